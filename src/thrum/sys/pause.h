// A thread that sleeps in the middle of user code: in which state it sleeps, and how the sleep ends.
//
// Two kinds of threads sleep like this. The first is the thread of a goroutine that was preempted (sys/preempt.h). The
// second is a thread that computed without a P and queues for one (get_p_in_user_code in sys/blocking.h). Both sleep in
// the signal handler, or where the goroutine left the runtime. The functions here run on that thread, with its mark
// set.
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// The state of m while it sleeps in user code. It says whether m may have been interrupted while it held a lock of the
// C library that other threads need.
[[nodiscard]] m_status paused_status(M const& m) noexcept;
// Called when m has woken and has a P. If the run has ended, the thread sleeps for good, unless it may hold a lock that
// the program needs; then it returns.
void stop_if_run_has_ended(M& m) noexcept;

// The run is over, and the thread, which slept in a pause, is at a place where it must not be stopped. It goes on until
// the next signal finds it elsewhere. If it enters the runtime before that, it ends there.
void go_on_after_the_end(M& m) noexcept;

// The run is over, and the thread stays where it is for good. Returns if the thread could hold a lock that the end of
// the program needs, which is so in three cases:
//  - The thread is in the C library or the vDSO.
//  - It is in a function that the C library has called, for example a constructor of a library that is being loaded
//    (sched/library_frames.h).
//  - malloc is in the program itself, so that its locks cannot be recognised.
void stop_for_good_if_possible(M& m) noexcept;

}  // namespace thrum::rt
