// Who wakes a goroutine that waits in several places at once: the `select_done` of S26.
//
// A goroutine in a select, or with a time limit, can be found by several wakers. Each must win this race before it may
// take the goroutine's side of the bargain (its value, its place in a queue) and ready it; a loser leaves the goroutine
// alone and tries the next waiter. A plain wait in one queue needs none of this: who dequeues it has won.
//
// It is begun before the goroutine parks: the queues it has entered stay locked until its commit step, and its timer starts
// in there, so nobody can find it earlier. After it was woken the goroutine first makes sure that no waker is left (leaves
// the queues, stops the timer) and then says over().
#pragma once

#include "base/atomic.h"

namespace thrum::rt {

class wake_race {
 public:
  // All relaxed: what a waker must know of the goroutine comes with the lock under which it found it.
  void begin() noexcept { is_on_.store(true, relaxed); }
  void over() noexcept { is_on_.store(false, relaxed); }

  // True for one waker.
  [[nodiscard]] bool win() noexcept { return is_on_.load(relaxed) && is_on_.exchange(false, relaxed); }

 private:
  atomic<bool> is_on_{false};
};

}  // namespace thrum::rt
