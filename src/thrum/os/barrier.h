// A memory barrier that the kernel executes on all threads of the process (membarrier).
//
// What the caller stored before the call is visible to every other thread in everything that it does after the barrier.
// What another thread stored before the barrier is visible to the caller after the call. So the frequent side of a
// store-load protocol needs only a compiler barrier (signal_fence), and the rare side, which calls
// barrier_in_all_threads, pays some microseconds.
//
// No locks, no allocation. May be called on any stack.
#pragma once

#include "base/atomic.h"

namespace thrum::rt::os {

extern constinit atomic<bool> barrier_is_prepared;

// Registers the process with the kernel. Has to be called before the first use in a process, and once more in a child
// of fork. If the kernel cannot do it (before 4.14, or a sandbox forbids it), has_barrier() is false.
void prepare_barrier() noexcept;

// Whether prepare_barrier succeeded. relaxed: the threads that ask were started after prepare_barrier
[[nodiscard]] inline bool has_barrier() noexcept { return barrier_is_prepared.load(relaxed); }

// Requires has_barrier(). If the call fails all the same, the program ends with a message.
void barrier_in_all_threads() noexcept;

}  // namespace thrum::rt::os
