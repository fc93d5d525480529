// A one-shot event between two threads: Go's note.
//
//   note n;                         // clear
//   waker:   n.wake();              // once per clear()
//   sleeper: n.sleep(); n.clear();  // returns at once if the wake came first
//
// Invariants
//   1. There is one sleeper at a time, and one wake between two clears. A second wake ends the program (Go: "double
//      wakeup"), because the sleeper may have destroyed the note after the first one.
//   2. What was written before wake() is visible after sleep(). wake's exchange releases, and sleep's load acquires.
//   3. wake() does not access the note after that exchange, so the sleeper may return and free the note at once. A
//      futex_wake that follows uses only the address. If that memory is in use as another futex by then, its waiter
//      wakes spuriously, which every waiter has to handle anyway.
//
// Unlike Go's note, the word tells the waker whether a thread sleeps, so a wake that comes before the sleep costs no
// system call. A note blocks the thread and not only the goroutine, so it is for g0, sysmon, foreign threads, and the
// threads of locked and paused goroutines. No locks, no allocation.
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

  // Like sleep(), but for at most `ns`. It does not sleep if `ns` is 0 or negative. Returns true if the note was woken.
  // If it returns false, the note is clear and a wake may come at any time, so the sleeper must either sleep once more
  // or make sure that there is no waker.
  [[nodiscard]] bool sleep_for(std::int64_t ns) noexcept;

  // The same until a point in time of the monotonic clock. It does not read the clock itself.
  [[nodiscard]] bool sleep_until(std::int64_t deadline_ns) noexcept;

  void wake() noexcept;

  // For a sleeper that is about to sleep in os::poll_wait: makes wake() notify the poller. Returns false if the note is
  // already woken.
  [[nodiscard]] bool begin_poll() noexcept;
  // To be called after that sleep. Returns whether the note was woken. If not, the note is clear, and a later wake()
  // does not notify the poller.
  [[nodiscard]] bool end_poll() noexcept;

  // Makes the note usable for the next sleep. Only the sleeper calls it, after its sleep and before it tells the next
  // waker, so that no wake can be under way. relaxed: what tells the next waker also orders this store.
  void clear() noexcept { word_.store(empty, relaxed); }

  [[nodiscard]] bool is_woken() const noexcept {
    return word_.load(acquire) == woken;  // pairs with wake()'s exchange
  }

  // For reports: whether a thread sleeps on it at this moment.
  [[nodiscard]] bool is_slept_on() const noexcept {
    std::uint32_t const now = word_.load(relaxed);
    return now == sleeping || now == polling;
  }

 private:
  static constexpr std::uint32_t empty = 0;
  static constexpr std::uint32_t woken = 1;
  static constexpr std::uint32_t sleeping = 2;  // not woken, and wake() has to call futex_wake
  static constexpr std::uint32_t polling = 3;   // not woken, and wake() has to notify the poller

  // Stores that a thread is about to sleep. Returns false if the wake came first.
  [[nodiscard]] bool announce(std::uint32_t how) noexcept;
  [[nodiscard]] bool take_back(std::uint32_t how) noexcept;

  atomic<std::uint32_t> word_{empty};
};

}  // namespace thrum::rt::os
