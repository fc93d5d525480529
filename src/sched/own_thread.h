// Goroutines that continue only on their own thread, which sleeps in their frames until their turn comes (S24).
//
// There are three kinds:
// - goroutines that are locked by lock_os_thread and parked;
// - goroutines that are paused in the middle of user code (sys/preempt.h);
// - goroutines that come back from a system call in the frames of a caller that must stay on its thread
//   (sys/blocking.h).
//
// None of them leaves its stack, unlike the goroutines that are at home on an M (sched/home.h). The thread gives its P
// away and sleeps on its M's note. The goroutine is queued like any other, as a locked entry; in the global queue
// its M stands in its place. The M that takes it from the queue gives its P to that M, and goes on without one (give_p).
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

// Locks m's current goroutine to its thread once more. Returns the M on which the goroutine is then:
// - A goroutine that main joined in place, and that therefore runs on M0, first moves to another thread, because M0's
//   thread is not thrum's to end.
// - If other goroutines are at home here (sched/home.h), it also moves to another thread.
// - A goroutine that is at home itself stays, for one more reason, among the other residents.
M& lock_to_thread(M& m) noexcept;
// Undoes one lock. One call too many does nothing, because the other reasons that keep the goroutine there
// (G::home_depth) end by themselves.
void unlock_from_thread(M& m) noexcept;
// The same without moving to another thread, for a short time. The goroutine on M0, for example, remains there.
void lock_where_it_is(M& m) noexcept;
void unlock_where_it_is(M& m) noexcept;

// g, the current goroutine of m, has ended, so it no longer belongs to a thread. If it was locked to m, m's thread ends
// with it as soon as the thread comes to g0. M0's thread does not end, because it belongs to the caller of run. A
// thread that is home to other goroutines does not end either: g was locked there at the limit of threads.
void end_lock(M& m, G& g) noexcept;
// Called on g0 when such a thread has come there. Gives its P away; the thread has to end afterwards.
void give_up_own_thread(M& m) noexcept;

// m's current goroutine leaves m by way of the global queue, because m will not run it any further: m is about to end,
// or is M0. Returns the M on which the goroutine is then.
M& leave_thread(M& m) noexcept;

// What suspend() does for a locked goroutine.
M& suspend_in_place(M& m, commit_step commit, void* argument) noexcept;

// Queues m's goroutine, which is in state `from`, to wait for its turn on this thread. `as` is queued, or the state of an
// M that is paused in user code.
void queue_on_own_thread(global_publication& locked, M& m, g_status from, m_status as) noexcept;

// Sleeps until the goroutine's turn has come; m has a P then. False: the run is over.
[[nodiscard]] bool sleep_until_its_turn(M& m) noexcept;

// The run is over. The goroutine goes no further. Its thread, which has no P, comes to its end; a foreign thread sleeps
// for good.
[[noreturn]] void leave_it_there(M& m) noexcept;

}  // namespace thrum::rt
