// The number of Ps follows the CPUs that affinity and the cgroup quota allow, unless it was set by the program or by
// the environment (S23).
//
// sysmon has the thread maker look once a second while the program is awake, because reading the quota allocates. If
// the number has changed, the thread maker makes a thread that changes the number of Ps, as any foreign thread may. The
// thread maker does not do it itself, because it must not wait for a P.
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// Runs on the thread maker.
void follow_cpus(Sched& s) noexcept;

// Called on a goroutine or any other thread, outside the runtime. Changes the number of Ps to n, and returns the
// previous number. Throws std::bad_alloc, and std::logic_error if the run ends meanwhile. `followed_in` is 0 for a
// number that the program chose. Otherwise the call follows the CPUs of the machine, in this run only, and does nothing
// if the program has chosen a number meanwhile.
int change_procs(int n, std::uint32_t followed_in = 0);

}  // namespace thrum::rt
