// What a call does if it would block: it waits for the descriptor and tries again.
//
// The descriptor's flags are not changed, because other users of the file would see that. Instead each try is made so
// that it does not block: with MSG_DONTWAIT, with RWF_NOWAIT, or after a poll that says that it is ready. If O_NONBLOCK
// is set, the call does not wait. The socket's own time limits (SO_RCVTIMEO, SO_SNDTIMEO) limit the wait.
//
// A try may fail although the kernel has reported readiness. Usually another reader or writer was quicker. But it also
// happens, for example, to datagrams for a socket whose queue is full, because the sender's own socket could take more.
// After 100 such reads in a row, or 3 such writes, another thread makes the plain call. A failed read counts only if no
// other call waits for the descriptor.
#pragma once

#include "posix/here.h"
#include "posix/watch.h"

#include <cstddef>
#include <cstdint>

#include <errno.h>
#include <poll.h>
#include <sys/types.h>

namespace thrum::posix {

// poll(2) without waiting. Returns the ready events, or POLLNVAL if there is no such descriptor.
[[nodiscard]] std::uint32_t look_at(int fd, std::uint32_t events) noexcept;
[[nodiscard]] bool is_nonblocking(int fd) noexcept;

// The waits of one call: it decides after each failed try what the call does next.
class blocked_call {
 public:
  enum class next_step : std::uint8_t {
    try_again,
    give_up,      // errno says why
    call_helper,  // let another thread make the plain call
  };

  // `limit` is SO_RCVTIMEO or SO_SNDTIMEO, or 0 for none.
  blocked_call(int fd, std::uint32_t events, int limit, turn_order how = turn_order::together) noexcept
      : what_{fd, events}, waits_(&what_, 1, if_unwatchable::makes_it_impossible, how), limit_(limit) {}
  [[nodiscard]] next_step wait() noexcept;
  [[nodiscard]] bool has_turn() noexcept { return waits_.has_turn(); }
  [[nodiscard]] bool was_closed() const noexcept { return what_.was_closed.load(rt::relaxed); }
  // Says that the last try has transferred something.
  void has_moved() noexcept { in_vain_ = -1; }

 private:
  rt::at_home here_;
  watch what_;
  waiter waits_;
  int limit_;
  std::int64_t deadline_ns_ = 0;  // 0: not computed yet
  int in_vain_ = 0;               // failed tries in a row although the descriptor was ready
  bool is_over_ = false;          // the time limit has passed
};

// Repeats f while it fails with EINTR. f does not wait, but poll and select report interruptions by signals even then.
template <class F>
[[nodiscard]] auto uninterrupted(F f) noexcept {
  int const errno_before = errno;
  auto r = f();
  while (r < 0 && errno == EINTR) r = f();
  if (r >= 0) errno = errno_before;
  return r;
}

// Restores errno if the call succeeds, because a successful call must not change it.
class errno_kept {
 public:
  [[nodiscard]] ssize_t result(ssize_t r) const noexcept {
    if (r >= 0) errno = before_;
    return r;
  }

 private:
  int before_ = errno;
};

// Makes a call that either succeeds as a whole or would block. attempt() and plain() return what the call returns.
// attempt() does not block, but fails with EAGAIN.
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
  for (blocked_call waits(fd, events, limit);;) {
    switch (waits.wait()) {
      case blocked_call::next_step::try_again: break;
      case blocked_call::next_step::give_up: return -1;
      case blocked_call::next_step::call_helper: return kept.result(by_helper(plain));
    }
    r = attempt();
    if (r >= 0 || errno != EAGAIN) return kept.result(r);
  }
}

// The same for a stream of `total` bytes, which is transferred piece by piece until all is done or the stream ends.
// Both functions get the number of bytes that are done. If a later piece fails, the call returns that number.
template <class Attempt, class Plain>
[[nodiscard]] ssize_t until_all_done(int fd, std::uint32_t events, std::size_t total, int limit, Attempt attempt,
                                     Plain plain) noexcept {
  errno_kept const kept;
  ssize_t r = attempt(std::size_t{0});
  if (r == 0 || (r < 0 && errno != EAGAIN)) return kept.result(r);
  std::size_t done = r > 0 ? static_cast<std::size_t>(r) : 0;
  if (r >= 0 && done >= total) return kept.result(r);  // an empty datagram (total 0, r < 0) has to wait as well
  auto const so_far = [&] { return done > 0 ? kept.result(static_cast<ssize_t>(done)) : ssize_t{-1}; };
  // Counts a piece. Returns true if it was the last one.
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
  for (blocked_call waits(fd, events, limit);;) {
    bool by_another = false;
    switch (waits.wait()) {
      case blocked_call::next_step::try_again: break;
      case blocked_call::next_step::give_up: return so_far();
      case blocked_call::next_step::call_helper: by_another = true; break;
    }
    // A socket error ends the call with the bytes that are done. The next call reports the error.
    if (limit != 0 && done > 0 && (look_at(fd, events) & POLLERR) != 0) return so_far();
    r = by_another ? by_helper([&] { return plain(done); }) : attempt(done);
    if (!by_another && r < 0 && errno == EAGAIN) continue;
    if (ends_with(r)) return r == 0 ? kept.result(static_cast<ssize_t>(done)) : so_far();
    waits.has_moved();
  }
}

}  // namespace thrum::posix
