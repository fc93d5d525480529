// Waiting for another thread that is about to be done, where there is nothing to sleep on.
//
//   short_wait wait;
//   while (is_not_done()) wait.pause();
//
// The first pauses yield the CPU (sched_yield), which is the fastest way if the other thread needs this CPU. Later
// pauses sleep for 50 us each.
//
// A loop of yields alone does not work. A thread with a real-time priority (SCHED_FIFO) that yields makes way only for
// threads of the same priority. So an ordinary thread that it waits for gets no CPU until the kernel throttles the
// waiting thread, up to a second later.
//
// pause() allocates nothing, takes no lock and leaves errno unchanged, so it may be called anywhere, also in a signal
// handler.
#pragma once

#include "os/clock.h"

#include <cstdint>

namespace thrum::rt::os {

class short_wait {
 public:
  explicit constexpr short_wait(int yields = 200) noexcept : yields_left_(yields) {}

  void pause() noexcept;

  // Whether the wait has used up its yields, and so takes longer than it should.
  [[nodiscard]] bool is_long() const noexcept { return yields_left_ == 0; }

 private:
  int yields_left_;
};

// Waits until condition() returns true, or until the time `until_ns` of the monotonic clock. Asks at least once.
// Returns whether the condition was met.
template <class Condition>
bool wait_until(Condition condition, std::int64_t until_ns) noexcept {
  for (short_wait wait; !condition(); wait.pause()) {
    if (monotonic_ns() >= until_ns) return false;
  }
  return true;
}

}  // namespace thrum::rt::os
