#include "os/descriptor_watch.h"

#include "base/platform.h"
#include "os/epoll.h"
#include "os/epoll_instance.h"
#include "os/kernel.h"

#include <cstdint>

#include <errno.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum::rt::os {
namespace {

constinit epoll_instance process;

// The `data` of an event: the descriptor, or watch_notified.
constexpr std::uint64_t data_of(int fd) noexcept { return static_cast<std::uint32_t>(fd); }
constexpr int fd_of(std::uint64_t data) noexcept { return static_cast<int>(static_cast<std::uint32_t>(data)); }

int ask(int operation, int fd, std::uint32_t events) noexcept {
  return control_epoll(process.fd(), operation, fd, events | EPOLLONESHOT, data_of(fd));
}

[[maybe_unused]] bool const children_forget =
    ::pthread_atfork(nullptr, nullptr, [] { process.forget_in_child(); }) == 0;

}  // namespace

// Opaque, like all functions that use errno: its address must not be reused in a caller that changes threads (T08).
THRUM_OPAQUE int open_watch(std::uint64_t data) noexcept {
  if (process.is_open()) return 0;
  int const errno_before = errno;
  int error = open_poll();
  if (error == 0)
    error = process.open_once(data_of(watch_notified), [&](int instance) { return poll_add(instance, data); });
  errno = errno_before;
  return error;
}

THRUM_OPAQUE watch_answer watch_descriptor(int fd, std::uint32_t events) noexcept {
  int const errno_before = errno;
  watch_answer answer{ask(EPOLL_CTL_MOD, fd, events), false};
  if (answer.error == ENOENT) {
    answer.error = ask(EPOLL_CTL_ADD, fd, events);
    answer.is_new = answer.error == 0;
  }
  errno = errno_before;
  return answer;
}

THRUM_OPAQUE int take_watch_events(watch_event* out) noexcept {
  int const instance = process.fd();
  if (instance < 0) return 0;
  int const errno_before = errno;
  epoll_event events[watch_events_max];
  int const found = kernel::epoll_wait(instance, events, watch_events_max, 0);
  errno = errno_before;
  for (int i = 0; i < found; ++i) out[i] = {fd_of(events[i].data.u64), events[i].events};
  return found > 0 ? found : 0;
}

THRUM_OPAQUE void notify_inner_poll() noexcept {
  if (!process.is_open()) return;
  int const errno_before = errno;
  std::uint64_t const one = 1;
  // Makes the system call directly, because the program's `write` may be one that parks.
  static_cast<void>(::syscall(SYS_write, process.notify_fd(), &one, sizeof one));
  errno = errno_before;
}

}  // namespace thrum::rt::os
