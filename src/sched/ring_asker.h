// The thread maker's part in reads that wait for the disk (core/cold_reads.h): it is the one thread that asks the kernel's ring.
//
// It must be one that lives as long as the run, has no user code whose sleeps could be cut short, and needs no P: os/ring.h. The
// disk has begun to work before the thread maker is rung (os::read_from_memory), so its way there costs no time as long as that is
// less than the disk's.
#pragma once

#include "core/sched.h"

#include <cstdint>

namespace thrum::rt {

// The order of what a disk takes: whoever has nothing but the clock to go by looks again after so long.
inline constexpr std::int64_t disk_takes_ns = 100'000;

// Asks for what is queued.
void ask_ring(Sched& s) noexcept;

// The last thing it does. False: the kernel has not answered for long, the disk does not: then the thread must not end.
[[nodiscard]] bool end_ring(Sched& s) noexcept;

}  // namespace thrum::rt
