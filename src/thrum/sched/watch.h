// The state behind sched/timekeeper.h: which M watches the timers and the poller, and until when.
//
// Nothing here starts an M. The timekeeper is only woken to look again.
#pragma once

#include "base/ablation.h"
#include "base/heuristics.h"
#include "core/sched.h"

namespace thrum::rt {

// The earliest live timer of all Ps; never_ns: there is none.
[[nodiscard]] std::int64_t earliest_timer(Sched& s) noexcept;

// Nudges sysmon if it would sleep past `first_ns`, the time of a timer. The timer was set with seq_cst before this
// call, and sysmon looks at the timers after it has stored until when it sleeps.
void make_sysmon_watch(Sched& s, std::int64_t first_ns) noexcept;

// The earliest timer if a P is idle and no timekeeper watches that timer, else never_ns. The answer holds at this
// moment only: another M may be about to watch it.
[[nodiscard]] std::int64_t earliest_unwatched_timer(Sched& s) noexcept;

// Whether a P is idle, a goroutine waits for a descriptor, and no M sleeps in the poller.
[[nodiscard]] bool poll_is_unwatched(Sched const& s) noexcept;

// Whether the timer is so far off that it can be left to sysmon.
[[nodiscard]] inline bool is_far_off(Sched const& s, std::int64_t when_ns, std::int64_t now_ns) noexcept {
  return applies(heuristic::far_off_timers) &&
         when_ns - now_ns > watching::pauses_until_near * s.sysmon.longest_pause_ns();
}

// --- under sched.lock ---

// The right column of the table of timers (timekeeper.h). A result that is false (never_ns and no poll) means that m is
// not the timekeeper. Otherwise m is the timekeeper, and sleeps as the result says.
struct timekeeper_task {
  std::int64_t until_ns = never_ns;
  bool polls = false;

  explicit operator bool() const noexcept { return until_ns != never_ns || polls; }
};
[[nodiscard]] timekeeper_task take_the_watch(Sched& s, M& m) noexcept;

// If nothing is left to wait for, but the timekeeper sleeps for a timer that was stopped or a descriptor that was
// closed, wakes the timekeeper. It looks again, and may find a deadlock.
void rouse_timekeeper_without_task(Sched& s) noexcept;

// Wakes the timekeeper to look again, if it sleeps past the earliest timer, or if a goroutine waits for a descriptor
// and the timekeeper does not sleep in the poller. Returns whether it did. There is a timekeeper.
[[nodiscard]] bool rouse_timekeeper_if_needed(Sched& s) noexcept;

}  // namespace thrum::rt
