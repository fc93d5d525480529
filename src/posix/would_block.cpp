#include "posix/would_block.h"

#include "posix/limit.h"
#include "posix/plain.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>

namespace thrum::posix {
namespace {

std::int64_t deadline_of(int fd, int limit) noexcept {
  timeval its{};
  socklen_t bytes = sizeof its;
  if (limit == 0 || ::getsockopt(fd, SOL_SOCKET, limit, &its, &bytes) != 0) return without_limit;
  std::int64_t const ns = in_ns({its.tv_sec, its.tv_usec * 1'000});
  return ns == 0 ? without_limit : deadline_after(ns);
}

}  // namespace

std::uint32_t look_at(int fd, std::uint32_t events) noexcept {
  pollfd one{fd, static_cast<short>(events), 0};
  int const found = uninterrupted([&] { return plain::poll(&one, 1, 0); });
  return found > 0 ? static_cast<std::uint16_t>(one.revents) : 0;
}

bool is_nonblocking(int fd) noexcept {
  int const flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && (flags & O_NONBLOCK) != 0;
}

blocked_call::next_step blocked_call::wait() noexcept {
  // A read often fails because another reader was quicker, and is_alone() does not see readers that are at their first
  // try. So more failed tries are allowed for reading than for writing.
  int const in_vain_max = (what_.events & POLLOUT) != 0 ? 3 : 100;
  if (is_over_) {
    errno = EAGAIN;
    return next_step::give_up;
  }
  if (deadline_ns_ == 0) {
    deadline_ns_ = deadline_of(what_.fd, limit_);
  } else {
    bool const was_in_vain =
        in_vain_ >= 0 && look_at(what_.fd, what_.events) != 0 && ((what_.events & POLLOUT) != 0 || waits_.is_alone());
    in_vain_ = was_in_vain ? in_vain_ + 1 : 0;
    if (in_vain_ >= in_vain_max) return next_step::call_helper;
  }
  switch (waits_.wait(deadline_ns_)) {
    case watch_outcome::by_event: break;
    case watch_outcome::by_close: errno = EBADF; return next_step::give_up;
    case watch_outcome::by_time:
      is_over_ = true;
      break;  // one last try, as the kernel makes one, because this goroutine may have had no CPU before the deadline
    case watch_outcome::impossible: return next_step::call_helper;
  }
  return next_step::try_again;
}

}  // namespace thrum::posix
