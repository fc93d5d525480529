// How many CPUs this process may use: the default number of Ps.
//
// The affinity mask of the calling thread, limited by the CPU quota of this process's cgroup and of all its
// visible ancestors. Go (1.25) reads the leaf only; a tighter ancestor throttles all the same. As in Go the
// quota is rounded up, and 2 is its least: min(affinity, max(2, ceil(quota))). With 1 a goroutine that hogs
// the only P would stop all others until it is preempted, although the quota is an average and not a number
// of CPUs.
//
// Runs at start and when the number of Ps is asked for anew; reads files and allocates, so never with the
// in-runtime mark set.
#pragma once

#include <optional>

namespace thrum::rt::os {

// 1 or more.
[[nodiscard]] int available_cpus() noexcept;

// CPUs that the calling thread may run on; those online when the mask cannot be read. 1 or more.
[[nodiscard]] int cpus_by_affinity() noexcept;

// The smallest quota, in CPUs, on the way from the process's cgroup to the root of its mount; nothing when
// there is no limit or none that can be read. `root` is put before every path ("" in earnest), the texts are
// those of /proc/self/cgroup and /proc/self/mountinfo. What cannot be understood is passed over: a wrong
// guess would cost more than none.
[[nodiscard]] std::optional<double> cgroup_quota(char const* root, char const* self_cgroup_text,
                                                 char const* mountinfo_text);

// The rounding described above.
[[nodiscard]] int cpus_under_quota(int cpus, std::optional<double> quota) noexcept;

}  // namespace thrum::rt::os
