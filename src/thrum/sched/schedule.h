// The main loop of an M, on g0: searching for a goroutine and running it (S09).
#pragma once

#include "core/sched.h"
#include "sched/search_result.h"

namespace thrum::rt {

// The main loop of an M that schedules, on g0. It returns when the thread is to end.
void schedule_until_end(M& m) noexcept;

// Runs next.g on m until a goroutine on m switches back to g0, and then runs the commit step of that goroutine.
void execute(M& m, search_result next) noexcept;

}  // namespace thrum::rt
