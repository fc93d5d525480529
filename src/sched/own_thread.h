// Goroutines that go on only on their own thread, which sleeps in their frames until their turn comes (S24).
//
// There are three kinds: locked by lock_os_thread, and parked; paused in the middle of user code (sys/preempt.h); back from a
// system call in the frames of a caller who must stay on his thread (sys/blocking.h). None of them leaves its stack, unlike those
// who are at home on a thread (sched/home.h). The thread gives its P away and sleeps on its M's note. The goroutine is queued like
// any other, as a locked entry; whoever takes that entry gives his P to the thread, and goes on without one (give_p_to_thread_of).
//
// Invariants:
//  1. Such a goroutine remains its M's current one: nobody touches its stack, and its saved context is only good for a look.
//  2. A goroutine that is locked never leaves its thread: what it does when it parks, the commit step included, it does there.
//     From that step on somebody may hand the thread a P, before it has given its own away.
//  3. A thread whose goroutine ends locked ends with it: whatever was done to the thread is of no use to others. Not the first one, and
//     not one that others are at home on, who can go on nowhere else.
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// Locks m's current goroutine to its thread, once more; and the way back. If it was only a guest on M0, joined by main in place,
// it goes elsewhere first: M0's thread is not ours to end. Likewise if others are at home here (sched/home.h); who is at home himself
// stays there one time more, among the others. The M it is on then.
M& lock_to_thread(M& m) noexcept;
// One time too many does nothing: what else keeps it there (G::home_depth) ends by itself.
void unlock_from_thread(M& m) noexcept;
// The same where it is, for a moment: of the one on M0, for example, who remains there.
void lock_where_it_is(M& m) noexcept;
void unlock_where_it_is(M& m) noexcept;

// g, the current goroutine of m, has ended. It is at home nowhere. If it was locked, so will m's thread, as soon as it comes to g0. M0's does not: it
// is the caller's of run. Nor does one that is somebody's home: it was locked there at the limit of threads.
void end_lock(M& m, G& g) noexcept;
// On g0, when it has come there: gives its P away; the thread is to end.
void give_up_own_thread(M& m) noexcept;

// m's current goroutine leaves m, by way of the global queue, since m will run no more: it is about to end, or is M0. The M it is
// on then.
M& leave_thread(M& m) noexcept;

// What suspend() does for a locked goroutine.
M& suspend_in_place(M& m, commit_step commit, void* argument) noexcept;

// Under sched.lock: m's goroutine, which is in state `from`, is to wait for its turn on this thread.
void queue_on_own_thread_locked(M& m, g_status from) noexcept;

// Sleeps until its turn has come; m has a P then. False: the run is over.
[[nodiscard]] bool sleep_until_its_turn(M& m) noexcept;

// The run is over. The goroutine goes no further, and its thread, which has no P, comes to its end; one that is not ours sleeps.
[[noreturn]] void leave_it_there(M& m) noexcept;

}  // namespace thrum::rt
