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
  if (said.exchange(true, relaxed)) return;  // relaxed: nothing else is told by it
  print_error(
      "thrum: the kernel watches no more descriptors for this user (epoll_ctl: ENOSPC): opening one fails with "
      "no_buffer_space, and accept waits. Raise fs.epoll.max_user_watches (said once)");
}

// What the caller is told when the poll refuses. ENOSPC is the limit of watched descriptors: no disk is full.
std::error_code refusal(int failed) noexcept {
  if (failed != ENOSPC) return system_error_of(failed);
  say_once_that_no_more_are_watched();
  return system_error_of(ENOBUFS);
}

}  // namespace

poll_desc* open_poll_desc(int fd, poll_kind kind, std::error_code& error) noexcept {
  runtime_mark const mark;  // under it nobody is preempted, or stopped for good, who holds the stores' locks
  os::survive_broken_pipes();
  error.clear();
  if (int const failed = os::open_poll()) {
    error = refusal(failed);
    return nullptr;
  }
  poll_desc* const d = take_poll_desc(fd, kind);
  if (d == nullptr) {
    error = system_error_of(ENOMEM);
    return nullptr;
  }
  own_poll_desc(*d);
  if (int const failed = os::poll_add(fd, poll_data_of(*d))) {
    free_poll_desc(*d);
    error = refusal(failed);
    return nullptr;
  }
  return d;
}

}  // namespace thrum::rt
