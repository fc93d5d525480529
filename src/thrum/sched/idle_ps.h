// Ps that no thread holds: the idle list, and taking hold of a P.
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// Under sched.lock: the idle list.
void put_idle_p(Sched& s, P& p) noexcept;
[[nodiscard]] P* take_idle_p(Sched& s) noexcept;

// Step 3 of the right column of the table of queues (sched/wake.h): whether any queue shows work.
[[nodiscard]] bool work_anywhere(Sched& s) noexcept;

// m takes p, which no thread holds.
void acquire_p(M& m, P& p) noexcept;

}  // namespace thrum::rt
