// Leaving a goroutine's stack, and arriving on the next one.
//
// A goroutine that parks, yields or ends chooses its successor itself if there is one on its P, and switches straight
// to it. It goes to g0 only if there is none, or if the successor needs more than a switch. What must not happen before
// the old stack is left is the commit step, and the goroutine or g0 that arrives runs it.
//
// Invariants:
//  1. Between the switch and the commit step only the arriving side knows the goroutine that left, because it is in no
//     queue.
//  2. Every path that continues after a switch calls arrive() first, and reads its M from there, because the goroutine
//     may be on another thread than before.
//  3. A commit step that releases a lock is never delayed by a page fault. While such a commit step is pending, a
//     goroutine that has no stack yet is started by g0, after the commit step (T11).
//  4. M0 runs only the main goroutine (T02), so a goroutine on M0 always leaves through g0. So does a goroutine whose
//     successor is locked to another thread. A goroutine that is locked itself does not leave its stack at all
//     (own_thread.h).
#pragma once

#include "core/current.h"
#include "core/sched.h"
#include "sched/switch.h"

namespace thrum::rt {

enum class commit_holds : bool { nothing, lock };

// Leaves m's current goroutine. The goroutine or g0 that arrives on the P runs commit(m', g, argument). Returns when
// the goroutine runs again, with the M that it is on then. On a G, inside the runtime; the caller has set the G's
// status. The parameters are in this order so that park() passes them on in the registers in which it got them.
M& suspend(M& m, commit_holds holds, commit_step commit, void* argument) noexcept;

// The same for a goroutine that has ended. Its stack belongs to the commit step.
[[noreturn]] void suspend_for_good(M& m, G* next, commit_step commit, void* argument) noexcept;

}  // namespace thrum::rt
