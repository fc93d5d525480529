// The number of Ps follows the CPUs that affinity and the cgroup quota allow, unless it was chosen by hand (S23).
//
// sysmon has the thread maker look once a second, while the program is awake: reading the quota allocates. When it has changed, a
// thread made for it resizes, as any thread from outside may: the maker itself must not wait for a P.
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// On the thread maker.
void follow_cpus(Sched& s) noexcept;

// On a goroutine or any other thread, outside the runtime: there are to be n Ps. How many it was before. Throws std::bad_alloc, and
// std::logic_error if the run ends meanwhile. `followed_in`: the machine is followed in this run, and in none other, unless the number is
// chosen by hand meanwhile; 0: it is.
int change_procs(int n, std::uint32_t followed_in = 0);

}  // namespace thrum::rt
