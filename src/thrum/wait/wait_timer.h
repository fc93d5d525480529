// A time limit on a wait: one more waker of a goroutine that parks (S26, S27).
//
//   wait_timer limit;
//   if (!limit.prepare(m, deadline_ns)) ...          // no memory: nothing has happened
//   ... enter the queues, with their locks held; g.race.begin() ...
//   park(m, reason, commit, ...);                    // commit: place = limit.start(m); unlock the queues;
//                                                    // timer_was_left(m, place), which may take its time
//   if (limit.finish(g)) ...                         // the time was over first. The timer does not fire after this
//   ... leave the queues; g.race.over()
//
// The timer starts in the commit step. No thread can fire it before that, so it cannot fire before the race has begun.
// The object lives on the stack of the goroutine that waits.
#pragma once

#include "core/sched.h"
#include "core/timer_record.h"

#include <cstdint>

namespace thrum::rt {

// Called by a fire function that has won the race. The goroutine's finish() will return true.
void wake_late(timer_record const& fired, M& m, G& g) noexcept;

class wait_timer {
 public:
  wait_timer() noexcept = default;
  wait_timer(wait_timer const&) = delete;
  wait_timer& operator=(wait_timer const&) = delete;

  // For the current goroutine of m, which must stay on m's P until the commit step. Returns false if there is no
  // memory.
  [[nodiscard]] bool prepare(M& m, std::int64_t deadline_ns) noexcept;
  // The same for a wait whose race is not the goroutine's own: `fire` decides the race, and calls wake_late.
  [[nodiscard]] bool prepare(M& m, std::int64_t deadline_ns, timer_function fire, void* argument) noexcept;
  [[nodiscard]] added_as start(M& m) noexcept;
  // If the caller holds this lock while the timer starts, the timer cannot fire yet and the goroutine cannot finish.
  [[nodiscard]] os::lock& lock() noexcept { return record_->lock; }

  // Called after the wait, on whichever M. When it returns, the timer does not fire. Returns true if the timer won the
  // race.
  [[nodiscard]] bool finish(G& g) noexcept;

  // Called after prepare, instead of parking.
  void discard() noexcept;

 private:
  timer_record* record_ = nullptr;
};

}  // namespace thrum::rt
