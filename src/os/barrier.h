// A barrier that all other threads of the process take part in, without their doing anything (membarrier).
//
// Before: a store of ours. After: whatever any other thread does later sees that store, and what it stored earlier is seen by
// us. It makes the cheap side of a store-load protocol a mere compiler barrier (signal_fence); this side pays some
// microseconds.
#pragma once

#include "base/atomic.h"

namespace thrum::rt::os {

extern constinit atomic<bool> barrier_is_prepared;

// Before the first use in a process; in a child of fork anew. Where the kernel cannot (before 4.14, or forbidden), there is none.
void prepare_barrier() noexcept;

// What that has found. Relaxed: all who ask were started afterwards.
[[nodiscard]] inline bool has_barrier() noexcept { return barrier_is_prepared.load(relaxed); }

void barrier_in_all_threads() noexcept;

}  // namespace thrum::rt::os
