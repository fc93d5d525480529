// A barrier that all other threads of the process take part in, without their doing anything (membarrier).
//
// Before: a store of ours. After: whatever any other thread does later sees that store, and what it stored earlier is seen by
// us. It makes the cheap side of a store-load protocol a mere compiler barrier (signal_fence); this side pays some
// microseconds.
#pragma once

namespace thrum::rt::os {

// Once per process, before the first use; false: the kernel cannot (before 4.14, or forbidden).
[[nodiscard]] bool prepare_barrier() noexcept;

void barrier_in_all_threads() noexcept;

}  // namespace thrum::rt::os
