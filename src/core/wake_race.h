// Who wakes a goroutine that waits in several places at once: the `select_done` of S26.
//
// A goroutine in a select, or with a time limit, can be found by several wakers. Each must win this race before it may
// take the goroutine's side of the bargain (its value, its place in a queue) and ready it; a loser leaves the goroutine
// alone and tries the next waiter. A plain wait in one queue needs none of this: who dequeues it has won.
//
//   idle --prepare--> preparing --commit--> waiting --win--> won --over--> idle
//                         \--win_any--> ahead (the commit finds it and readies the goroutine itself)
//
// `preparing` lasts while the goroutine still runs on its stack: the queues it enters are locked until the commit, but a
// timer may fire already. After it was woken the goroutine first makes sure that no waker is left (leaves the queues,
// stops the timer) and then says over().
#pragma once

#include "base/atomic.h"

#include <cstdint>

namespace thrum::rt {

class wake_race {
 public:
  // The goroutine, on its own stack.
  void prepare() noexcept {
    state_.store(preparing, relaxed);
  }                                                      // published by the locks of the queues and of the timer
  void over() noexcept { state_.store(idle, relaxed); }  // nobody is left who could look

  // The commit step, before the queues are unlocked. False: somebody has won already, the commit readies the goroutine.
  [[nodiscard]] bool commit() noexcept {
    std::uint8_t expected = preparing;
    return state_.compare_exchange(expected, waiting, acq_rel, acquire);  // pairs with win_any
  }

  // A waker that found the goroutine in a queue, after its commit.
  [[nodiscard]] bool win() noexcept {
    std::uint8_t expected = waiting;
    return state_.compare_exchange(expected, won, acq_rel,
                                   relaxed);  // acquire pairs with the commit: it is off its stack
  }

  // A waker that may come before the commit: a timer. `early`: the goroutine is woken by its own commit.
  enum class outcome : std::uint8_t { lost, won, early };
  [[nodiscard]] outcome win_any() noexcept {
    for (std::uint8_t seen = state_.load(relaxed); seen == preparing || seen == waiting;) {
      bool const parked = seen == waiting;
      if (state_.compare_exchange_weak(seen, parked ? won : ahead, acq_rel, relaxed)) {
        return parked ? outcome::won : outcome::early;
      }
    }
    return outcome::lost;
  }

 private:
  static constexpr std::uint8_t idle = 0;
  static constexpr std::uint8_t preparing = 1;
  static constexpr std::uint8_t waiting = 2;
  static constexpr std::uint8_t won = 3;
  static constexpr std::uint8_t ahead = 4;

  atomic<std::uint8_t> state_{idle};
};

}  // namespace thrum::rt
