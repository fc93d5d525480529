// How many CPUs this process may use, which is the default number of Ps.
//
// It is the number of CPUs in the calling thread's affinity mask, limited by the CPU quota of the process's cgroup and
// of all its visible ancestors. Go (1.25) reads only the process's own cgroup, although an ancestor with a lower quota
// throttles the process too.
//
// As in Go, the quota is rounded up and counts as 2 at least: min(affinity, max(2, ceil(quota))). With 1, a goroutine
// that keeps the only P busy would stop all others until it is preempted, although the quota is an average over time
// and not a number of CPUs.
//
// These functions run at the start and when the number of Ps is determined later. They read files and allocate, so they
// must not be called with the in-runtime mark set.
#pragma once

#include <optional>

namespace thrum::rt::os {

// 1 or more.
[[nodiscard]] int available_cpus() noexcept;

// The number of CPUs that the calling thread may run on, or of the CPUs that are online if the mask cannot be read. 1
// or more.
[[nodiscard]] int cpus_by_affinity() noexcept;

// The rounding described above.
[[nodiscard]] int cpus_under_quota(int cpus, std::optional<double> quota) noexcept;

}  // namespace thrum::rt::os
