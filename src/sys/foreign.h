// Threads that thrum did not make (S38; Go's extra Ms).
//
// Such a thread gets a seat when it first calls the runtime: an M and a G of its own. To the scheduler it is a goroutine that is
// locked to its thread and in a system call: each call of the runtime comes back from there, with a P, and goes away again
// (sys/blocking.h). To wait it sleeps in place (sched/own_thread.h). It counts as a goroutine only while it is inside, and its
// thread is none of max_threads.
//
// Lifetimes. A seat belongs to one run at a time: its M stands in the list of that run's Ms, from which nothing is ever taken
// out. When the thread ends, another one of the same run may have the seat. When the run ends, the thread keeps it, marked as
// over, and takes it along into the next run. Whoever was about to enter just then finds that mark:
//
//   the end of the run                             the thread
//   1. takes its M from it, marks the seat over    1. reads its M
//   2. a barrier in all threads                    2. sets its mark, and looks whether the seat is over
//   3. its mark is set, or it has not gone away    3. over: sleeps for good
//      yet? then the run's memory stays for good
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// From now on, and until the end, other threads can be seated. One run at a time.
void admit_threads(Sched& s) noexcept;

// No more are; those that are outside lose their M. `patience_ns`: how long it waits for such as are about to leave, or have got
// what they waited for; goroutines still run. How many are inside then: they stay there for good, and need the run's memory.
[[nodiscard]] int dismiss_threads(Sched& s, std::int64_t patience_ns) noexcept;

// After end_all_ms: how many wait inside. Nobody will wake them.
[[nodiscard]] int threads_left_waiting(Sched& s) noexcept;

// How many are in a call of the runtime now, the calling thread not counted.
[[nodiscard]] int threads_inside(Sched& s) noexcept;

// What boot puts into m_hooks: a seat for the calling thread, which has no M. nullptr: no run is alive.
[[nodiscard]] M* seat_thread() noexcept;

}  // namespace thrum::rt
