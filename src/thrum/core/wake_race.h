// Decides which waker wakes a goroutine that waits in several places at once: the `select_done` of S26.
//
// Several wakers can find a goroutine that is in a select or that waits with a time limit. A waker must win this race
// before it may act on the goroutine (pass it a value, take its place in a queue) and ready it. A waker that loses
// leaves the goroutine alone and tries the next waiter. A plain wait in one queue needs no race: the waker that
// dequeues the goroutine has won.
//
// The goroutine begins the race before it parks. No waker can find it earlier, because the queues that it has entered
// stay locked until its commit step, and the commit step also starts its timer. After it was woken, the goroutine first
// makes sure that no waker is left (it leaves the queues and stops the timer), and then calls over().
#pragma once

#include "base/atomic.h"

namespace thrum::rt {

class wake_race {
 public:
  // All relaxed: the lock under which a waker finds the goroutine orders everything that the waker reads of it.
  void begin() noexcept { is_on_.store(true, relaxed); }
  void over() noexcept { is_on_.store(false, relaxed); }

  // Returns true for exactly one waker.
  [[nodiscard]] bool win() noexcept { return is_on_.load(relaxed) && is_on_.exchange(false, relaxed); }

 private:
  atomic<bool> is_on_{false};
};

}  // namespace thrum::rt
