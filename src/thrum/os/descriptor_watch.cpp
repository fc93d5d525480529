#include "os/descriptor_watch.h"

#include "base/atomic.h"
#include "base/platform.h"
#include "os/epoll.h"
#include "os/fault.h"
#include "os/kernel.h"
#include "os/lock.h"

#include <errno.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum::rt::os {
namespace {

struct open_instance {
  os::lock lock{lock_rank::leaf};
  atomic<int> fd{-1};  // written under `lock`, after `notify_fd`
  atomic<int> notify_fd{-1};
};
constinit open_instance process;

int control(int instance, int operation, int fd, std::uint32_t events) noexcept {
  if (int injected = 0; should_fail(call::epoll_ctl, injected)) return injected;
  epoll_event event{};
  event.events = events;
  event.data.fd = (events & EPOLLONESHOT) != 0 ? fd : watch_notified;
  return ::epoll_ctl(instance, operation, fd, &event) == 0 ? 0 : errno;
}

// 0 or the errno.
int make_eventfd(int instance, int& notify_fd) noexcept {
  int injected = 0;
  notify_fd = should_fail(call::eventfd, injected) ? -1 : ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (notify_fd < 0) return injected != 0 ? injected : errno;
  return control(instance, EPOLL_CTL_ADD, notify_fd, EPOLLIN | EPOLLET);
}

int open_once(std::uint64_t data) noexcept {
  os::lock_guard const guard(process.lock);
  if (process.fd.load(relaxed) >= 0) return 0;
  int injected = 0;
  int const instance = should_fail(call::epoll_create, injected) ? -1 : ::epoll_create1(EPOLL_CLOEXEC);
  if (instance < 0) return injected != 0 ? injected : errno;
  int notify_fd = -1;
  int error = make_eventfd(instance, notify_fd);
  if (error == 0) error = poll_add(instance, data);
  if (error == 0) {
    process.notify_fd.store(notify_fd, relaxed);  // published by the next store
    process.fd.store(instance, release);          // pairs with the acquire in each function that uses the instance
  } else {
    kernel::close(instance);
    if (notify_fd >= 0) kernel::close(notify_fd);
  }
  return error;
}

// A child of fork shares the instance with its parent, so its changes would affect the parent.
void forget_in_child() noexcept {
  int const errno_before = errno;
  int const instance = process.fd.exchange(-1, relaxed);  // relaxed: a child of fork has only one thread
  int const notify_fd = process.notify_fd.exchange(-1, relaxed);
  if (instance >= 0) kernel::close(instance);
  if (notify_fd >= 0) kernel::close(notify_fd);
  errno = errno_before;
}

[[maybe_unused]] bool const children_forget = ::pthread_atfork(nullptr, nullptr, forget_in_child) == 0;

}  // namespace

// Opaque, like all functions that use errno: its address must not be reused in a caller that changes threads (T08).
THRUM_OPAQUE int open_watch(std::uint64_t data) noexcept {
  if (process.fd.load(acquire) >= 0) return 0;  // pairs with open_once
  int const errno_before = errno;
  int error = open_poll();
  if (error == 0) error = open_once(data);
  errno = errno_before;
  return error;
}

THRUM_OPAQUE watch_answer watch_descriptor(int fd, std::uint32_t events) noexcept {
  int const errno_before = errno;
  int const instance = process.fd.load(acquire);  // pairs with open_once
  watch_answer answer{control(instance, EPOLL_CTL_MOD, fd, events | EPOLLONESHOT), false};
  if (answer.error == ENOENT) {
    answer.error = control(instance, EPOLL_CTL_ADD, fd, events | EPOLLONESHOT);
    answer.is_new = answer.error == 0;
  }
  errno = errno_before;
  return answer;
}

THRUM_OPAQUE int take_watch_events(watch_event* out) noexcept {
  int const instance = process.fd.load(acquire);  // pairs with open_once
  if (instance < 0) return 0;
  int const errno_before = errno;
  epoll_event events[watch_events_max];
  int const found = kernel::epoll_wait(instance, events, watch_events_max, 0);
  errno = errno_before;
  for (int i = 0; i < found; ++i) out[i] = {events[i].data.fd, events[i].events};
  return found > 0 ? found : 0;
}

THRUM_OPAQUE void notify_inner_poll() noexcept {
  if (process.fd.load(acquire) < 0) return;  // pairs with open_once
  int const errno_before = errno;
  std::uint64_t const one = 1;
  // Makes the system call directly, because the program's `write` may be one that parks.
  static_cast<void>(::syscall(SYS_write, process.notify_fd.load(relaxed), &one, sizeof one));
  errno = errno_before;
}

}  // namespace thrum::rt::os
