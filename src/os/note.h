// A one-shot event between two threads: Go's note.
//
//   note n;                         // clear
//   waker:   n.wake();              // once per clear()
//   sleeper: n.sleep(); n.clear();  // returns at once if the wake came first
//
// Invariants
//   1. One sleeper at a time, and one wake between two clears; a second wake ends the program (Go: "double
//      wakeup"): the sleeper of the first may already have destroyed the note.
//   2. What was written before wake() is visible after sleep(): wake's exchange releases, sleep's load
//      acquires.
//   3. wake() touches the note for the last time with that exchange. The sleeper may return and free the note
//      at once; the futex_wake that may still follow names an address only. Should that memory be in use
//      again as another futex, its waiter wakes for no reason, which every waiter must bear anyway.
//
// Unlike Go's, the word tells a waker whether anybody sleeps, so a wake that comes first costs no system
// call. It blocks the thread, not the goroutine: for g0, sysmon and threads from outside.
#pragma once

#include "base/atomic.h"
#include "os/futex.h"

#include <cstdint>

namespace thrum::rt::os {

class note {
 public:
  constexpr note() noexcept = default;

  // Returns once the note is woken.
  void sleep() noexcept;

  // As sleep(), for `ns` at most (negative or 0: only looks). True if woken; after false the note is still
  // clear, and a wake may come at any time: the sleeper must either sleep again or make sure that no waker is
  // left.
  [[nodiscard]] bool sleep_for(std::int64_t ns) noexcept;

  // The same until a moment of the monotonic clock: reads no clock itself.
  [[nodiscard]] bool sleep_until(std::int64_t deadline_ns) noexcept;

  void wake() noexcept;

  // For a sleeper that sleeps in os::poll_wait instead: wake() will ring the poll's bell. False: it is woken already.
  [[nodiscard]] bool begin_poll() noexcept;
  // Afterwards: whether it was woken. If not, the note is clear, and whoever wakes it later does not ring.
  [[nodiscard]] bool end_poll() noexcept;

  // Arms it again. Only when no wake can be under way: the sleeper after its sleep, before it tells the next
  // waker. relaxed: whatever tells the next waker also orders this store.
  void clear() noexcept { word_.store(empty, relaxed); }

  [[nodiscard]] bool is_woken() const noexcept {
    return word_.load(acquire) == woken;  // pairs with wake()'s exchange
  }

  // For reports: whether somebody sleeps on it just now.
  [[nodiscard]] bool is_slept_on() const noexcept {
    std::uint32_t const now = word_.load(relaxed);
    return now == sleeping || now == polling;
  }

 private:
  static constexpr std::uint32_t empty = 0;
  static constexpr std::uint32_t woken = 1;
  static constexpr std::uint32_t sleeping = 2;  // empty, and wake() has to call the kernel
  static constexpr std::uint32_t polling = 3;   // the same, by the bell of the poll

  // Marks that somebody is about to sleep; false if the wake came first.
  [[nodiscard]] bool announce(std::uint32_t how) noexcept;
  [[nodiscard]] bool take_back(std::uint32_t how) noexcept;

  atomic<std::uint32_t> word_{empty};
};

}  // namespace thrum::rt::os
