// One round of the scheduler, on g0: find a goroutine and run it (S09, S10).
#pragma once

#include "core/sched.h"
#include "sched/search_result.h"

namespace thrum::rt {

// The search in the order of S10. Runs on g0 and blocks until it has found something. False: the run is over.
[[nodiscard]] search_result find_runnable(M& m) noexcept;

// The work stealing of that search: four rounds over all Ps in random order, runnext only in the last round.
[[nodiscard]] search_result steal_work(M& m) noexcept;

// The main loop of an M that schedules, on g0. It returns when the thread is to end.
void schedule_until_end(M& m) noexcept;

// Runs next.g on m until a goroutine on m switches back to g0, and then runs the commit step of that goroutine.
void execute(M& m, search_result next) noexcept;

}  // namespace thrum::rt
