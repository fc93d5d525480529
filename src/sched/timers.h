// Running what is due, setting and stopping (S27).
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// The clock of all timers.
[[nodiscard]] std::int64_t timer_clock_ns() noexcept;

// --- on g0, by an M with a P ---

// Runs what is due in the heap of `whose`, at most a batch: sleepers become runnable on m's own P, in the order of their
// times, and records fire.
void run_due_timers(M& m, P& whose, std::int64_t now_ns) noexcept;

// The search's look at the timers: m's own P's, or those of all Ps if m has kept the time for them.
void look_at_timers(M& m) noexcept;

// --- anybody ---

// Stops r: true if it was armed in the run that is alive and will not fire any more. When it returns, nothing fires.
// r is locked by the caller, so that what belongs to r can be taken back in the same breath.
bool stop_locked(timer_record& r) noexcept;

}  // namespace thrum::rt
