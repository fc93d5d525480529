// Running timers that are due, and making and stopping timers (S27).
#pragma once

#include "core/current.h"
#include "core/sched.h"

namespace thrum::rt {

// The clock of all timers.
[[nodiscard]] std::int64_t timer_clock_ns() noexcept;

// --- on g0, by an M with a P ---

// Runs the timers that are due in the heap of `whose`, at most a batch. Sleepers become runnable on m's own P, in the
// order of their times, and records fire.
void run_due_timers(M& m, P& whose, std::int64_t now_ns) noexcept;

// Looks at the timers on behalf of find_runnable: at those of m's own P, or of all Ps if m was the timekeeper and its
// time has come.
void look_at_timers(M& m) noexcept;

// --- on any thread, with r locked ---

// Stops r. True: it was armed in the run that is alive, and will not fire any more. After the return no callback of r
// is under way.
bool stop_locked(timer_record& r) noexcept;

// --- in user code, on a goroutine or elsewhere ---
// All of these set the mark of a goroutine that calls them (runtime_mark), and need neither a P nor a run. Stopping a
// timer touches the heap of a run that may be ending. The heap is there until the record's lock has been released,
// because the end of a run takes that lock for each record in its heaps (end_with_its_run in wait/after_func.h).

class [[nodiscard]] timer_guard {
 public:
  explicit timer_guard(timer_record& r) noexcept : guard_(r.lock) {}

 private:
  runtime_mark mark_;
  os::lock_guard guard_;
};

// An idle record; throws std::bad_alloc.
[[nodiscard]] timer_record& new_timer(timer_function fire, void* argument);

// Stops r and drops its owner's reference.
void end_timer(timer_record& r) noexcept;

}  // namespace thrum::rt
