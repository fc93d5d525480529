// What a call does that would block: it waits for the descriptor, and tries again.
//
// The descriptor stays as it is, others see it: only the tries are such that do not block (MSG_DONTWAIT, RWF_NOWAIT, or a look by poll
// before). If O_NONBLOCK is set there is no wait, and the time limits of the socket are the wait's.
//
// A try may fail although the kernel has said that it would not: others were quicker; but also with datagrams to a socket whose queue is
// full, for example, since the own one could take more. After a few of these the plain call is made, by another thread; not where others
// read, too.
#pragma once

#include "posix/here.h"
#include "posix/watch.h"

#include <cstddef>
#include <cstdint>

#include <errno.h>
#include <poll.h>
#include <sys/types.h>

namespace thrum::posix {

// poll(2) without waiting; POLLNVAL if there is no such descriptor.
[[nodiscard]] std::uint32_t look_at(int fd, std::uint32_t events) noexcept;
[[nodiscard]] bool is_nonblocking(int fd) noexcept;

class patience {
 public:
  enum class next : std::uint8_t {
    try_again,
    give_up,      // errno says why
    call_helper,  // for the plain call
  };

  // limit: SO_RCVTIMEO or SO_SNDTIMEO; 0: none.
  patience(int fd, std::uint32_t events, int limit, standing how = standing::together) noexcept
      : what_{fd, events}, waits_(&what_, 1, unwatched::makes_it_impossible, how), limit_(limit) {}
  [[nodiscard]] next wait() noexcept;
  [[nodiscard]] bool has_turn() noexcept { return waits_.has_turn(); }
  [[nodiscard]] bool was_closed() const noexcept { return what_.was_closed.load(rt::relaxed); }
  // The last try was not in vain.
  void has_moved() noexcept { in_vain_ = -1; }

 private:
  rt::at_home here_;
  watch what_;
  waiter waits_;
  int limit_;
  std::int64_t deadline_ns_ = 0;  // 0: not looked at yet
  int in_vain_ = 0;               // tries in a row
  bool is_over_ = false;          // the time
};

// f, which does not wait: poll and select say even then that a signal has interrupted them.
template <class F>
[[nodiscard]] auto uninterrupted(F f) noexcept {
  int const errno_before = errno;
  auto r = f();
  while (r < 0 && errno == EINTR) r = f();
  if (r >= 0) errno = errno_before;
  return r;
}

// On success errno is what it was.
class errno_kept {
 public:
  [[nodiscard]] ssize_t result(ssize_t r) const noexcept {
    if (r >= 0) errno = before_;
    return r;
  }

 private:
  int before_ = errno;
};

// attempt() and plain() answer as the call does; attempt does not block, but fails with EAGAIN.
template <class Attempt, class Plain>
[[nodiscard]] ssize_t until_done(int fd, std::uint32_t events, int limit, Attempt attempt, Plain plain) noexcept {
  errno_kept const kept;
  ssize_t r = attempt();
  if (r >= 0 || errno != EAGAIN) return kept.result(r);
  if (is_nonblocking(fd)) {
    errno = EAGAIN;
    return -1;
  }
  if (must_not_park()) return kept.result(plain());
  for (patience waits(fd, events, limit);;) {
    switch (waits.wait()) {
      case patience::next::try_again: break;
      case patience::next::give_up: return -1;
      case patience::next::call_helper: return kept.result(by_helper(plain));
    }
    r = attempt();
    if (r >= 0 || errno != EAGAIN) return kept.result(r);
  }
}

// The same for a stream of `total` bytes, piece by piece until all is done or it ends. Both are given how much went before; what fails
// after that ends the call with that much.
template <class Attempt, class Plain>
[[nodiscard]] ssize_t until_all_done(int fd, std::uint32_t events, std::size_t total, int limit, Attempt attempt,
                                     Plain plain) noexcept {
  errno_kept const kept;
  ssize_t r = attempt(std::size_t{0});
  if (r == 0 || (r < 0 && errno != EAGAIN)) return kept.result(r);
  std::size_t done = r > 0 ? static_cast<std::size_t>(r) : 0;
  if (r >= 0 && done >= total) return kept.result(r);  // nothing at all, in a datagram, may have to wait as well
  auto const so_far = [&] { return done > 0 ? kept.result(static_cast<ssize_t>(done)) : ssize_t{-1}; };
  // True: that was the last piece.
  auto const ends_with = [&](ssize_t piece) {
    if (piece > 0) done += static_cast<std::size_t>(piece);
    return piece <= 0 || done >= total;
  };
  if (is_nonblocking(fd)) {
    errno = EAGAIN;
    return so_far();
  }
  if (must_not_park()) {
    do r = plain(done);
    while (!ends_with(r));
    return r == 0 ? kept.result(static_cast<ssize_t>(done)) : so_far();
  }
  for (patience waits(fd, events, limit);;) {
    bool by_another = false;
    switch (waits.wait()) {
      case patience::next::try_again: break;
      case patience::next::give_up: return so_far();
      case patience::next::call_helper: by_another = true; break;
    }
    // A socket's error ends the call with what was done, and it is the next one that is to find it.
    if (limit != 0 && done > 0 && (look_at(fd, events) & POLLERR) != 0) return so_far();
    r = by_another ? by_helper([&] { return plain(done); }) : attempt(done);
    if (!by_another && r < 0 && errno == EAGAIN) continue;
    if (ends_with(r)) return r == 0 ? kept.result(static_cast<ssize_t>(done)) : so_far();
    waits.has_moved();
  }
}

}  // namespace thrum::posix
