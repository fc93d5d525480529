#include "posix/watch_buckets.h"

#include "os/descriptor_watch.h"

#include <errno.h>

namespace thrum::posix {

constinit std::array<fd_bucket, bucket_count> buckets{};
constinit bucket_set<bucket_count> buckets_to_wake{};

int tell_kernel(fd_bucket& bucket, int fd, std::uint32_t events, std::uint32_t epoch, g_list& runnable) noexcept {
  auto const [error, is_new] = os::watch_descriptor(fd, events);
  bool const is_another =
      is_new || error == EBADF || error == EPERM;  // another file, or closed, or a regular file, which epoll refuses
  if (is_another) {
    bucket.for_each(epoch, [&](watch& one) {
      if (one.fd != fd || !one.is_known || one.was_closed.load(relaxed)) return;
      one.was_closed.store(true, relaxed);
      one.owner->set_word(runnable);
    });
  }
  return error;
}

}  // namespace thrum::posix
