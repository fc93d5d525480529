// The smallest CPU quota of this process's cgroup and its ancestors.
//
// It works in three steps. It finds the cgroup that limits the process's CPU time (/proc/self/cgroup), finds where that
// hierarchy is mounted (/proc/self/mountinfo), and reads the limit files from there up to the root of the mount.
//
// If version 1's cpu controller is mounted, it takes precedence. A controller belongs to one version at a time, while
// the 0:: line of version 2 is always there and proves nothing.
//
// Allocates and reads files. Takes no lock of the runtime.
#pragma once

#include <optional>

namespace thrum::rt::os {

// The smallest quota, in CPUs, between the process's cgroup and the root of its mount, or nothing if there is no limit
// or none can be read. `root` is put before every path; it is "" except in tests. The texts are those of
// /proc/self/cgroup and /proc/self/mountinfo. Lines that cannot be parsed are skipped, because a wrong guess would be
// worse than no limit.
[[nodiscard]] std::optional<double> cgroup_quota(char const* root, char const* self_cgroup_text,
                                                 char const* mountinfo_text);

}  // namespace thrum::rt::os
