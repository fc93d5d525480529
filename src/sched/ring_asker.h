// The thread maker's part in reads that wait for the disk (core/cold_reads.h): it is the one thread that asks the kernel's ring.
//
// It must be one that lives as long as the run, has no user code whose sleeps could be cut short, and needs no P: os/ring.h. The
// disk has begun to work before the thread maker is rung (os::read_from_memory), so its way there costs no time as long as that is
// less than the disk's.
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// Asks for what is queued.
void ask_ring(Sched& s) noexcept;

// The last thing it does. False: the kernel has not answered for long, the disk does not: then the thread must not end.
[[nodiscard]] bool end_ring(Sched& s) noexcept;

}  // namespace thrum::rt
