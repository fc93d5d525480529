// Goroutines that continue only on their own thread, which sleeps in their frames until their turn comes (S24).
//
// There are three kinds:
// - goroutines that are locked by lock_os_thread and parked;
// - goroutines that are paused in the middle of user code (sys/preempt.h);
// - goroutines that come back from a system call in the frames of a caller that must stay on its thread
//   (sys/blocking.h).
//
// None of them leaves its stack, unlike the goroutines that are at home on an M (sched/home.h). The thread gives its P
// away and sleeps on its M's note. The goroutine is queued like any other, as an entry on its own thread
// (core/entry.h); in the global queue its M stands in its place. The M that takes it from the queue gives up its P to
// that M (give_p) and then rests.
//
// Invariants:
//  1. Such a goroutine remains its M's current goroutine. No other thread touches its stack, and its saved context may
//     only be read.
//  2. A locked goroutine never leaves its thread. Whatever it does when it parks, the commit step included, it does
//     there. From the commit step on, another thread may give this thread a P before it has given its own away.
//  3. A thread whose goroutine ends locked ends with it, because whatever was done to the thread is of no use to
//     others. There are two exceptions: M0's thread, and a thread that is home to other goroutines, which can continue
//     nowhere else.
#pragma once

#include "core/sched.h"

namespace thrum::rt {

class global_publication;

// Called on g0 of an M whose goroutine has ended locked (end_lock). Gives the M's P away; the thread has to end
// afterwards.
void give_up_own_thread(M& m) noexcept;

// What suspend() does for a locked goroutine.
M& suspend_in_place(M& m, commit_step commit, void* argument) noexcept;

// Queues m's goroutine, which is in state `from`, to wait for its turn on this thread. `as` is queued, or the state of
// an M that is paused in user code.
void queue_on_own_thread(global_publication& locked, M& m, g_status from, m_status as) noexcept;

// Sleeps in the frames of m's goroutine until m has a P, which is when the goroutine's turn has come. False: the run is
// over, and m has no P. Of the threads that are paused in user code, the end of the run wakes only those that must go
// on, for example because they may hold a lock of the C library. They go on without a P (go_on_after_the_end in
// sys/pause.h). The others sleep for good.
[[nodiscard]] bool sleep_in_frames_until_p(M& m) noexcept;

// The run is over. The goroutine goes no further. Its thread, which has no P, comes to its end; a foreign thread sleeps
// for good.
[[noreturn]] void leave_goroutine_behind(M& m) noexcept;

}  // namespace thrum::rt
