// The main loop of an M, on g0: the search for a goroutine, the work stealing in that search, and running what was
// found (S09, S10).
#pragma once

#include "core/sched.h"
#include "sched/search_result.h"

namespace thrum::rt {

// The search in the order of S10. Runs on g0. If it finds nothing, m gives its P up, rests, and searches again when it
// has a P (rest_until_p in threads.h). The result is a goroutine, or an M that wants a P. If it is false, the thread
// must end, because the run is over or because sysmon has let this M go. Defined in find_runnable.cpp.
[[nodiscard]] search_result find_runnable(M& m) noexcept;

// The work stealing of that search: four rounds over all Ps in random order. Some work is taken only in the last round:
// timers that are due on the victim, the goroutine in runnext, a goroutine that is alone in a run queue, and, after
// poor steals, a run queue with no more than a handful of goroutines. Defined in steal.cpp.
[[nodiscard]] search_result steal_work(M& m) noexcept;

// The main loop of an M that schedules, on g0. It returns when the thread is to end.
void schedule_until_end(M& m) noexcept;

// Runs next.g on m until a goroutine on m switches back to g0, and then runs the commit step of that goroutine.
void execute(M& m, search_result next) noexcept;

}  // namespace thrum::rt
