#include "net/open.h"

#include "base/check.h"
#include "core/poll_table.h"
#include "net/io_call.h"
#include "os/epoll.h"
#include "os/socket.h"
#include "sched/timers.h"

namespace thrum::rt {
namespace {

void say_once_that_no_more_are_watched() noexcept {
  static constinit atomic<bool> said{false};
  if (said.exchange(true, relaxed)) return;  // relaxed: the flag publishes no other data
  print_error(
      "thrum: the kernel watches no more descriptors for this user (epoll_ctl: ENOSPC), so opening one fails with "
      "no_buffer_space, and accept waits. Raise fs.epoll.max_user_watches. This message is printed once");
}

// The error for the caller when epoll refuses a descriptor. epoll's ENOSPC means that the user's limit of watched
// descriptors is reached. It becomes ENOBUFS, because callers would read ENOSPC as "the disk is full".
std::error_code refusal(int failed) noexcept {
  if (failed != ENOSPC) return system_error_of(failed);
  say_once_that_no_more_are_watched();
  return system_error_of(ENOBUFS);
}

// Returns nullptr and sets `refused` to epoll's errno, or sets it to 0 if there is no memory.
poll_desc* open_under_mark(int fd, poll_kind kind, int& refused) noexcept {
  // While the mark is set, the goroutine is neither preempted nor stopped at the end of the run. Otherwise it could
  // keep the locks of the record stores for good.
  runtime_mark const mark;
  os::survive_broken_pipes();
  refused = os::open_poll();
  if (refused != 0) return nullptr;
  poll_desc* const d = take_poll_desc(fd, kind);
  if (d == nullptr) return nullptr;
  own_poll_desc(*d);
  refused = os::poll_add(fd, poll_data_of(*d));
  if (refused == 0) return d;
  free_poll_desc(*d);
  return nullptr;
}

}  // namespace

poll_desc* open_poll_desc(int fd, poll_kind kind, std::error_code& error) noexcept {
  error.clear();
  int refused = 0;
  poll_desc* const d = open_under_mark(fd, kind, refused);
  if (d == nullptr)
    error = refused != 0 ? refusal(refused) : system_error_of(ENOMEM);  // without the mark: it may print
  return d;
}

}  // namespace thrum::rt
