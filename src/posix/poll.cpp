// poll, ppoll, select, pselect, epoll_wait and its kin: a look without waiting, and if that finds nothing a wait until another look may.
//
// A signal mask is the thread's: a call with one is made by another thread, on which the signals then come.
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

// Room for so many without memory of its own.
template <class T, std::size_t OnStack>
class array_of {
 public:
  explicit array_of(std::size_t count) noexcept {
    if (count > OnStack) more_.reset(new (std::nothrow) T[count]);
    first_ = count > OnStack ? more_.get() : few_.data();
  }
  [[nodiscard]] T* get() noexcept { return first_; }  // nullptr: no memory

 private:
  std::array<T, OnStack> few_{};
  std::unique_ptr<T[]> more_;
  T* first_ = nullptr;
};

// look() answers as the call does, without waiting; plain() waits as the call would. is_stuck(), after a look in vain: what this call does
// not count as ready wakes it all the same, and would again.
template <class Look, class Stuck, class Plain>
int look_until(watch* all, std::size_t count, std::int64_t deadline_ns, Look look, Stuck is_stuck,
               Plain plain) noexcept {
  rt::at_home const here;
  waiter waits(all, count, unwatched::is_left_out);
  for (;;) {
    switch (waits.wait(deadline_ns)) {
      case woken::by_event:
      case woken::by_close: break;
      case woken::by_time: return look();
      case woken::impossible: return by_helper([&] { return uninterrupted(plain); });
    }
    if (int const found = look(); found != 0) return found;
    if (is_stuck()) return by_helper([&] { return uninterrupted(plain); });
    if (deadline_ns != without_limit && now_ns() >= deadline_ns) return 0;  // whatever it is that wakes it
  }
}

// What is left of the time, for a plain call.
class time_left {
 public:
  explicit time_left(std::int64_t deadline_ns) noexcept : is_limited_(deadline_ns != without_limit) {
    std::int64_t const left_ns = is_limited_ ? deadline_ns - now_ns() : 0;
    if (left_ns > 0) its_ = {left_ns / ns_per_s, left_ns % ns_per_s};
  }
  [[nodiscard]] timespec const* get() const noexcept { return is_limited_ ? &its_ : nullptr; }
  [[nodiscard]] int ms() const noexcept {  // never early, but for what an int cannot say
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
  if (must_not_park()) return plainly();  // before anything else: a handler may have interrupted malloc
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
        // A number that was closed meanwhile may be another file's already: this call does not wait for that.
        for (nfds_t i = 0; i < count && found >= 0; ++i) {
          if (!all[i].was_closed.load(rt::relaxed)) continue;
          if (fds[i].revents == 0) ++found;
          fds[i].revents = POLLNVAL;
        }
        return found;
      },
      [] { return false; }, plainly);
}

// Three sets of a select, as long as it says.
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
  array_of<word, 48> bytes_;  // as many as FD_SETSIZE needs
  bool has_[3] = {};
};

std::uint32_t events_of(sets& all, int fd) noexcept {
  std::uint32_t events = 0;
  if (all.has(0, fd)) events |= POLLIN | POLLRDNORM | POLLRDBAND;
  if (all.has(1, fd)) events |= POLLOUT | POLLWRNORM | POLLWRBAND;
  if (all.has(2, fd)) events |= POLLPRI;
  return events;
}

// What is found is written to the caller's sets when the call ends well, and not before: after an error they are as they were.
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
  if (must_not_park()) return plainly();  // as in poll_until: the sets are on the stack
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
      [&] {  // an error or an end, of which a select for other things knows nothing
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

// nullptr is no limit at all.
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
  // How much of such a set is read depends on how many descriptors are open.
  if (fds > FD_SETSIZE) {  // an interrupted one has said what is left of its time
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
  if (limit != nullptr && deadline_ns != without_limit) {  // what is left of it, as the kernel says
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
