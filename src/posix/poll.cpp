// poll, ppoll, select, pselect, epoll_wait, epoll_pwait, epoll_pwait2. Each looks without waiting. If that finds
// nothing, it parks until another look may find something.
//
// A signal mask belongs to a thread. So a call with a mask is made by another thread, and signals arrive on that
// thread.
#include "posix/interpose.h"
#include "posix/limit.h"
#include "posix/plain.h"
#include "posix/would_block.h"

#include <array>
#include <climits>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

namespace thrum::posix {
namespace {

// An array that needs no heap memory for up to OnStack elements.
template <class T, std::size_t OnStack>
class array_of {
 public:
  explicit array_of(std::size_t count) noexcept {
    if (count > OnStack) more_.reset(new (std::nothrow) T[count]);
    first_ = count > OnStack ? more_.get() : few_.data();
  }
  [[nodiscard]] T* get() noexcept { return first_; }  // nullptr if there is no memory

 private:
  std::array<T, OnStack> few_{};
  std::unique_ptr<T[]> more_;
  T* first_ = nullptr;
};

// look() returns what the call returns, without waiting. plain() waits as the call would. is_stuck() is asked after a
// look that found nothing. It returns true if the descriptors are in a state that wakes this call although the call
// does not count it as ready, and that would wake it without end.
template <class Look, class Stuck, class Plain>
int look_until(watch* all, std::size_t count, std::int64_t deadline_ns, Look look, Stuck is_stuck,
               Plain plain) noexcept {
  rt::at_home const here;
  waiter waits(all, count, if_unwatchable::is_left_out);
  for (;;) {
    switch (waits.wait(deadline_ns)) {
      case watch_outcome::by_event:
      case watch_outcome::by_close: break;
      case watch_outcome::by_time: return look();
      case watch_outcome::impossible: return by_helper([&] { return uninterrupted(plain); });
    }
    if (int const found = look(); found != 0) return found;
    if (is_stuck()) return by_helper([&] { return uninterrupted(plain); });
    if (deadline_ns != without_limit && now_ns() >= deadline_ns) return 0;  // even if wake-ups keep coming
  }
}

// The time that is left until the deadline, for a plain call.
class time_left {
 public:
  explicit time_left(std::int64_t deadline_ns) noexcept : is_limited_(deadline_ns != without_limit) {
    std::int64_t const left_ns = is_limited_ ? deadline_ns - now_ns() : 0;
    if (left_ns > 0) its_ = {left_ns / ns_per_s, left_ns % ns_per_s};
  }
  [[nodiscard]] timespec const* get() const noexcept { return is_limited_ ? &its_ : nullptr; }
  [[nodiscard]] int ms() const noexcept {  // rounded up, and limited to what an int can hold
    if (!is_limited_) return -1;
    constexpr std::int64_t s_max = INT_MAX / 1000 - 1;
    return static_cast<int>((its_.tv_sec < s_max ? its_.tv_sec : s_max) * 1000 + (its_.tv_nsec + 999'999) / 1'000'000);
  }

 private:
  bool is_limited_;
  timespec its_{0, 0};
};

int look_at_all(pollfd* fds, nfds_t count) noexcept {
  return uninterrupted([&] { return plain::poll(fds, count, 0); });
}

int poll_until(pollfd* fds, nfds_t count, std::int64_t deadline_ns) noexcept {
  auto const plainly = [&] { return plain::ppoll(fds, count, time_left(deadline_ns).get(), nullptr); };
  if (must_not_park()) return plainly();  // before any allocation, because a signal handler may have interrupted malloc
  array_of<watch, 8> watches(count);
  watch* const all = watches.get();
  if (all == nullptr) return plainly();
  for (nfds_t i = 0; i < count; ++i) {
    all[i].fd = fds[i].fd;
    all[i].events = static_cast<std::uint16_t>(fds[i].events);
  }
  return look_until(
      all, count, deadline_ns,
      [&] {
        int found = look_at_all(fds, count);
        // A number that was closed meanwhile may belong to another file, for which this call does not wait.
        for (nfds_t i = 0; i < count && found >= 0; ++i) {
          if (!all[i].was_closed.load(rt::relaxed)) continue;
          if (fds[i].revents == 0) ++found;
          fds[i].revents = POLLNVAL;
        }
        return found;
      },
      [] { return false; }, plainly);
}

// Copies of the three sets of a select, for the descriptors below `fds`.
class sets {
 public:
  using word = unsigned long;
  static constexpr std::size_t bits = 8 * sizeof(word);

  sets(int fds, fd_set const* in, fd_set const* out, fd_set const* except) noexcept
      : words_((static_cast<std::size_t>(fds) + bits - 1) / bits), bytes_(3 * words_) {
    if (bytes_.get() == nullptr) return;
    fd_set const* const from[] = {in, out, except};
    for (std::size_t i = 0; i < 3; ++i) {
      has_[i] = from[i] != nullptr;
      if (has_[i]) std::memcpy(bytes_.get() + i * words_, from[i], words_ * sizeof(word));
    }
  }
  [[nodiscard]] bool is_there() noexcept { return bytes_.get() != nullptr; }
  [[nodiscard]] fd_set* set(std::size_t i) noexcept {
    return has_[i] ? reinterpret_cast<fd_set*>(bytes_.get() + i * words_) : nullptr;
  }
  [[nodiscard]] bool has(std::size_t i, int fd) noexcept {
    auto const at = static_cast<std::size_t>(fd);
    return has_[i] && (bytes_.get()[i * words_ + at / bits] >> (at % bits) & 1U) != 0;
  }
  void write_to(fd_set* in, fd_set* out, fd_set* except) noexcept {
    fd_set* const to[] = {in, out, except};
    for (std::size_t i = 0; i < 3; ++i) {
      if (has_[i]) std::memcpy(to[i], bytes_.get() + i * words_, words_ * sizeof(word));
    }
  }

 private:
  std::size_t words_;
  array_of<word, 48> bytes_;  // on the stack for up to FD_SETSIZE descriptors
  bool has_[3] = {};
};

std::uint32_t events_of(sets& all, int fd) noexcept {
  std::uint32_t events = 0;
  if (all.has(0, fd)) events |= POLLIN | POLLRDNORM | POLLRDBAND;
  if (all.has(1, fd)) events |= POLLOUT | POLLWRNORM | POLLWRBAND;
  if (all.has(2, fd)) events |= POLLPRI;
  return events;
}

// The result is written to the caller's sets only when the call succeeds. After an error they are unchanged.
int select_until(int fds, fd_set* in, fd_set* out, fd_set* except, std::int64_t deadline_ns) noexcept {
  bool is_written = false;
  auto const plainly = [&] {
    is_written = true;
    return plain::pselect(fds, in, out, except, time_left(deadline_ns).get(), nullptr);
  };
  sets wanted(fds, in, out, except);
  sets found(fds, in, out, except);
  if (!wanted.is_there() || !found.is_there()) return plainly();
  auto const look = [&] {
    return uninterrupted([&] {
      wanted.write_to(found.set(0), found.set(1), found.set(2));
      timeval at_once{0, 0};
      return plain::select(fds, found.set(0), found.set(1), found.set(2), &at_once);
    });
  };
  auto const end_with = [&](int ready) {
    if (ready >= 0 && !is_written) found.write_to(in, out, except);
    return ready;
  };
  if (int const ready = look(); ready != 0) return end_with(ready);
  if (must_not_park()) return plainly();  // before the allocation below, as in poll_until
  std::size_t count = 0;
  for (int fd = 0; fd < fds; ++fd) count += events_of(wanted, fd) != 0 ? 1U : 0U;
  array_of<watch, 8> watches(count);
  watch* const all = watches.get();
  if (all == nullptr) return plainly();
  watch* next = all;
  for (int fd = 0; fd < fds; ++fd) {
    std::uint32_t const events = events_of(wanted, fd);
    if (events == 0) continue;
    next->fd = fd;
    next++->events = events;
  }
  return end_with(look_until(
      all, count, deadline_ns,
      [&] {
        for (watch const* each = all; each != all + count; ++each) {
          if (!each->was_closed.load(rt::relaxed)) continue;
          errno = EBADF;
          return -1;
        }
        return look();
      },
      [&] {  // an error or a hang-up that the sets do not ask for wakes the call without end
        bool is = false;
        for (watch const* each = all; each != all + count; ++each) is = is || look_at(each->fd, each->events) != 0;
        return is;
      },
      plainly));
}

template <class Look, class Plain>
int epoll_until(int fd, std::int64_t deadline_ns, Look look, Plain plain) noexcept {
  if (must_not_park()) return plain();
  watch one{fd, POLLIN};
  return look_until(
      &one, 1, deadline_ns,
      [&] {
        if (!one.was_closed.load(rt::relaxed)) return look();
        errno = EBADF;
        return -1;
      },
      [] { return false; }, plain);
}

int wait_for_epoll(int fd, epoll_event* events, int count, int ms) noexcept {
  auto const look = [&] { return plain::epoll_wait(fd, events, count, 0); };
  if (int const found = look(); found != 0) return found;
  std::int64_t const deadline_ns = deadline_after_ms(ms);
  return epoll_until(fd, deadline_ns, look,
                     [&] { return plain::epoll_wait(fd, events, count, time_left(deadline_ns).ms()); });
}

// nullptr means no limit, so it is not zero.
bool is_zero(timespec const* limit) noexcept { return limit != nullptr && limit->tv_sec == 0 && limit->tv_nsec == 0; }

}  // namespace
}  // namespace thrum::posix

using namespace thrum::posix;

THRUM_POSIX_FILE(poll);

THRUM_POSIX_CALL int poll(pollfd* fds, nfds_t count, int ms) {
  if (!on_goroutine()) return plain::poll(fds, count, ms);
  if (int const found = look_at_all(fds, count); found != 0 || ms == 0) return found;
  return poll_until(fds, count, deadline_after_ms(ms));
}

THRUM_POSIX_CALL int ppoll(pollfd* fds, nfds_t count, timespec const* limit, sigset_t const* mask) {
  auto const plainly = [&] { return plain::ppoll(fds, count, limit, mask); };
  if (!on_goroutine()) return plainly();
  if ((limit != nullptr && !is_valid(*limit)) || (is_zero(limit) && mask != nullptr)) return plainly();
  if (mask != nullptr) return by_helper(plainly);
  if (int const found = look_at_all(fds, count); found != 0 || is_zero(limit)) return found;
  return poll_until(fds, count, limit == nullptr ? without_limit : deadline_after(in_ns(*limit)));
}

THRUM_POSIX_CALL int select(int fds, fd_set* in, fd_set* out, fd_set* except, timeval* limit) {
  auto const plainly = [&] { return plain::select(fds, in, out, except, limit); };
  if (!on_goroutine()) return plainly();
  if (fds < 0 || (limit != nullptr && (limit->tv_sec < 0 || limit->tv_usec < 0))) return plainly();
  if (limit != nullptr && limit->tv_sec == 0 && limit->tv_usec == 0) return uninterrupted(plainly);
  // The kernel reads only as much of a larger set as there are open descriptors, so it cannot be copied here. A select
  // that was interrupted has stored the time that is left in `limit`, so it can be repeated.
  if (fds > FD_SETSIZE) {
    return by_helper([&] { return uninterrupted(plainly); });
  }
  std::int64_t deadline_ns = without_limit;
  if (limit != nullptr) {
    std::int64_t const fraction_ns = limit->tv_usec % 1'000'000 * 1000;
    std::int64_t const whole_s = limit->tv_usec / 1'000'000;
    if (limit->tv_sec < INT64_MAX - whole_s)
      deadline_ns = deadline_after(in_ns({limit->tv_sec + whole_s, fraction_ns}));
  }
  int const found = select_until(fds, in, out, except, deadline_ns);
  if (limit != nullptr && deadline_ns != without_limit) {  // store the time that is left, as the kernel does
    std::int64_t const left_ns = deadline_ns - now_ns();
    *limit = left_ns > 0 ? timeval{left_ns / ns_per_s, left_ns % ns_per_s / 1000} : timeval{0, 0};
  }
  return found;
}

THRUM_POSIX_CALL int pselect(int fds, fd_set* in, fd_set* out, fd_set* except, timespec const* limit,
                             sigset_t const* mask) {
  auto const plainly = [&] { return plain::pselect(fds, in, out, except, limit, mask); };
  if (!on_goroutine()) return plainly();
  if (fds < 0 || (limit != nullptr && !is_valid(*limit)) || (is_zero(limit) && mask != nullptr)) return plainly();
  if (is_zero(limit)) return uninterrupted(plainly);
  if (mask != nullptr || fds > FD_SETSIZE) return by_helper(plainly);
  return select_until(fds, in, out, except, limit == nullptr ? without_limit : deadline_after(in_ns(*limit)));
}

THRUM_POSIX_CALL int epoll_wait(int fd, epoll_event* events, int count, int ms) {
  if (ms == 0 || !on_goroutine()) return plain::epoll_wait(fd, events, count, ms);
  return wait_for_epoll(fd, events, count, ms);
}

THRUM_POSIX_CALL int epoll_pwait(int fd, epoll_event* events, int count, int ms, sigset_t const* mask) {
  if (ms == 0 || !on_goroutine()) return plain::epoll_pwait(fd, events, count, ms, mask);
  if (mask != nullptr) return by_helper([&] { return plain::epoll_pwait(fd, events, count, ms, mask); });
  return wait_for_epoll(fd, events, count, ms);
}

THRUM_POSIX_CALL int epoll_pwait2(int fd, epoll_event* events, int count, timespec const* limit, sigset_t const* mask) {
  auto const plainly = [&] { return plain::epoll_pwait2(fd, events, count, limit, mask); };
  if (!on_goroutine()) return plainly();
  if (is_zero(limit) || (limit != nullptr && !is_valid(*limit))) return plainly();
  if (mask != nullptr) return by_helper(plainly);
  auto const look = [&] { return plain::epoll_wait(fd, events, count, 0); };
  if (int const found = look(); found != 0) return found;
  std::int64_t const deadline_ns = limit == nullptr ? without_limit : deadline_after(in_ns(*limit));
  return epoll_until(fd, deadline_ns, look,
                     [&] { return plain::epoll_pwait2(fd, events, count, time_left(deadline_ns).get(), nullptr); });
}

THRUM_POSIX_CALL int __poll(pollfd* fds, nfds_t count, int ms) { return poll(fds, count, ms); }
THRUM_POSIX_CALL int __select(int fds, fd_set* in, fd_set* out, fd_set* except, timeval* limit) {
  return select(fds, in, out, except, limit);
}
