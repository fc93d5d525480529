#include "os/epoll.h"

#include "base/atomic.h"
#include "base/check.h"
#include "os/epoll_instance.h"
#include "os/fault.h"
#include "os/kernel.h"
#include "os/socket.h"

#include <cstdint>

#include <errno.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace thrum::rt::os {
namespace {

// The `data` of a notification and of io_uring. They differ from the `data` of all descriptors, which are addresses.
constexpr std::uint64_t notify_data = 0;
constexpr std::uint64_t uring_data = 1;

constinit epoll_instance process;

// A thread that finds an event sees everything that was written before the descriptor was added. The kernel guarantees
// that, and this word expresses it in terms of the C++ memory model.
constinit atomic<std::uint32_t> added{0};

constinit atomic<bool> has_pwait2{true};  // false before Linux 5.11, or if a sandbox forbids epoll_pwait2

long error_or(long result) noexcept { return result >= 0 ? result : -errno; }

std::uint32_t meaning_of(std::uint32_t events) noexcept {
  std::uint32_t what = 0;
  if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLPRI)) != 0) what |= poll_says::readable;
  if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) what |= poll_says::writable;
  if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLPRI)) != 0) what |= poll_says::ended;
  return what;
}

// The number of events, or -errno.
long wait_for_events(int poll, epoll_event* events, std::int64_t timeout_ns) noexcept {
  int injected = 0;
  bool const fails = should_fail(call::epoll_wait, injected);
  if (timeout_ns > 0 && has_pwait2.load(relaxed)) {
    timespec limit{};
    limit.tv_sec = timeout_ns / 1'000'000'000;
    limit.tv_nsec = timeout_ns % 1'000'000'000;
    long const found =
        fails ? -injected : error_or(::syscall(SYS_epoll_pwait2, poll, events, poll_events_max, &limit, nullptr, 0));
    if (found != -ENOSYS && found != -EPERM) return found;
    // relaxed: a thread that does not see it makes the same attempt
    has_pwait2.store(false, relaxed);
  } else if (fails && injected != ENOSYS && injected != EPERM) {  // these two errors concern only epoll_pwait2
    return -injected;
  }
  int timeout_ms = static_cast<int>(timeout_ns);  // 0 and -1 mean the same in both units
  if (timeout_ns > 0) {
    constexpr std::int64_t ms_max = 1'000'000'000;  // the caller of a longer sleep calls several times
    std::int64_t const ms = timeout_ns / 1'000'000 + (timeout_ns % 1'000'000 != 0 ? 1 : 0);  // rounded up
    timeout_ms = static_cast<int>(ms < ms_max ? ms : ms_max);
  }
  return error_or(kernel::epoll_wait(poll, events, poll_events_max, timeout_ms));
}

[[maybe_unused]] bool const children_forget =
    ::pthread_atfork(nullptr, nullptr, [] { process.forget_in_child(); }) == 0;

}  // namespace

// Opaque, like all functions that use errno: its address must not be reused in a caller that changes threads (T08).
THRUM_OPAQUE int open_poll() noexcept {
  if (poll_is_open()) return 0;
  int const errno_before = errno;
  int const error = process.open_once(notify_data, [](int) { return 0; });
  errno = errno_before;
  return error;
}

bool poll_is_open() noexcept { return process.is_open(); }

THRUM_OPAQUE int poll_add(int fd, std::uint64_t data) noexcept {
  int const errno_before = errno;
  THRUM_DCHECK(data != notify_data && data != uring_data);
  added.fetch_add(1U, release);  // pairs with poll_wait
  int const error =
      control_epoll(process.fd(), EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET, data);
  errno = errno_before;
  return error;
}

THRUM_OPAQUE int poll_add_uring(int event) noexcept {
  int const errno_before = errno;
  added.fetch_add(1U, release);  // pairs with poll_wait
  int const error = control_epoll(process.fd(), EPOLL_CTL_ADD, event, EPOLLIN | EPOLLET, uring_data);
  errno = errno_before;
  return error;
}

THRUM_OPAQUE void poll_remove(int fd) noexcept {
  int const poll = process.fd();
  if (poll < 0) return;  // this is a child of fork, which has inherited fd from its parent
  int const errno_before = errno;
  static_cast<void>(control_epoll(poll, EPOLL_CTL_DEL, fd, 0, 0));
  errno = errno_before;
}

void close_but_keep_number(int fd) noexcept {
  int const poll = process.fd();
  if (poll < 0) return;  // this is a child of fork, which inherited fd from its parent
  replace(fd, poll);
}

THRUM_OPAQUE int poll_wait(poll_event* out, std::int64_t timeout_ns) noexcept {
  int const errno_before = errno;
  epoll_event events[poll_events_max];
  long const found = wait_for_events(process.fd(), events, timeout_ns);
  errno = errno_before;
  static_cast<void>(added.load(acquire));  // pairs with poll_add and poll_add_uring
  if (found < 0) {
    if (found == -EINTR) return 0;
    fatal("internal error: epoll_wait failed; errno=%d", static_cast<int>(-found));
  }
  for (long i = 0; i < found; ++i) {
    std::uint64_t const data = events[i].data.u64;
    out[i] = {data, data == notify_data  ? poll_says::notified
                    : data == uring_data ? poll_says::uring
                                         : meaning_of(events[i].events)};
  }
  return static_cast<int>(found);
}

THRUM_OPAQUE void notify_poller() noexcept {
  int const errno_before = errno;
  std::uint64_t const one = 1;
  // The result does not matter: even EAGAIN, after 2^64 notifications, means that the eventfd is readable.
  static_cast<void>(kernel::write(process.notify_fd(), &one, sizeof one));
  errno = errno_before;
}

}  // namespace thrum::rt::os
