// Work stealing (S12): from the head of a random victim's run queue, half of it at a time.
#pragma once

#include "core/sched.h"
#include "sched/search_result.h"

namespace thrum::rt {

// Four rounds over all Ps in random order. Some work is taken only in the last round:
// timers that are due on the victim, the goroutine in runnext, a goroutine that is alone in a run queue, and, after
// poor steals, a run queue with no more than a handful of goroutines.
[[nodiscard]] search_result steal_work(M& m) noexcept;

}  // namespace thrum::rt
