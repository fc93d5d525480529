// The thread maker's part in reads that wait for the disk (core/cold_reads.h): it is the one thread that asks io_uring.
//
// That thread must live as long as the run, run no user code whose sleeps could be cut short, and need no P:
// os/uring.h. The disk has begun to work before the thread maker is notified (os::read_from_memory). So waking the
// thread maker costs no time as long as that takes less than the disk does.
#pragma once

#include "core/sched.h"

#include <cstdint>

namespace thrum::rt {

// The order of the time that a disk takes. A thread that has only the clock to go by looks again after this time.
inline constexpr std::int64_t disk_takes_ns = 100'000;

// Submits the queued reads to io_uring.
void submit_to_uring(Sched& s) noexcept;

// The last call of the thread maker. False: the kernel has not answered for long, because the disk does not, and the
// thread must not end.
[[nodiscard]] bool shut_down_uring(Sched& s) noexcept;

}  // namespace thrum::rt
