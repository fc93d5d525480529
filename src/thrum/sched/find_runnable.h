// The search for a goroutine to run, in the order of S10. find_runnable reads from top to bottom like that list.
#pragma once

#include "core/sched.h"
#include "sched/search_result.h"

namespace thrum::rt {

// The search in the order of S10. Runs on g0. If it finds nothing, m gives its P up, rests, and searches again when it
// has a P (rest_until_p in threads.h). The result is a goroutine, or an M that wants a P. If it is false, the thread
// must end, because the run is over or because sysmon has let this M go.
[[nodiscard]] search_result find_runnable(M& m) noexcept;

}  // namespace thrum::rt
