// Preemption of goroutines that do not come to the scheduler by themselves (S18, S19; T01, T03 to T06, T15).
//
// C++ code has no safe points of its own. At an arbitrary instruction a goroutine cannot leave its stack, because it
// may be in the middle of an access to a thread-local, or hold a lock of the C library. So thrum pauses the thread
// instead of leaving the stack. The thread puts its M into the global queue (core/global_run_queue.h), gives the P to
// another M and sleeps until the goroutine's turn comes. The M that takes this M from the queue gives its P to it. The
// thread sleeps in the signal handler, or where its goroutine leaves the runtime.
//
// Invariants:
//  1. The handler acts only if the M's mark is clear, because the thread then holds no lock of the runtime. Otherwise
//     it sets m_attend::pause. A channel operation or a select that may wait then yields (yield_if_asked in
//     sched/park.h), so its goroutine may continue on another thread. Every other call pauses the thread when it leaves
//     the runtime (pause_if_still_asked). There the goroutine stays on its thread, because its caller does not expect
//     that this call changes the thread.
//  2. The handler does not pause the thread while the program counter lies in the C library or its kin (T03). It runs
//     the function of for_each_proc, if one is asked for, and does nothing else. sysmon asks again soon. So a thread
//     that sleeps in the handler holds no lock of theirs, as a rule. There are two exceptions, neither of which holds
//     at the end of the run:
//     - A thread that is never found outside of them, for example in a loop over memset, is paused there after 20
//       requests, or after 3 if the world is to stop (slice_watch::ask). A thread that wants its lock then sleeps in
//       the kernel, so sysmon gives that thread's P to the paused goroutine (T05).
//     - In the vDSO, where loops over the clock are found, the second request pauses the thread, because few programs
//       read the clock with a lock held. A thread that computes without a P waits for one there at the first request.
//       In both cases it counts as paused in the C library (paused_status).
//  3. While the thread is in a signal handler of the program, or in a section that blocks a signal, on whichever stack,
//     the handler only sets m_attend::pause. It recognises both by an interrupted mask that is not the mask of all Ms,
//     or by a stack pointer that lies on the signal stack. A signal handler that has interrupted the runtime on another
//     thread may wait for what is held there, and may keep a lock of the runtime or the only P meanwhile. So the holder
//     must go on: neither the end of a slice nor a stop of the world nor the end of the run stops it, and sysmon asks
//     again.
//     - A goroutine that changes its thread's mask for good is preempted only where it calls the runtime and may switch
//       there. If it was asked to pause, its M notices the mask when the goroutine next enters the runtime. The M then
//       restores its own mask on g0, before another goroutine runs there.
//     - A handler with SA_NODEFER, an empty mask and no SA_ONSTACK cannot be recognised.
//  4. The handler makes no thread. The P goes to an M that rests, else to the M that has waited longest in the global
//     queue (that M comes first while many goroutines are paused). If there is none either, the slice goes on, and the
//     thread maker makes a spare M (T01).
//  5. A request names the slice that it is about, by the P's schedtick. A request that comes too late does nothing.
//  6. Paused threads do not use up the machine (T05). From half of pauses::max() on, the end of a slice resumes the
//     oldest paused goroutine, but every fourth end of a slice lets other goroutines run. From max() on, these are only
//     goroutines that have run before or were woken. To start one more new goroutine, a number of such turns must pass
//     that grows with the excess. So thousands of long computations are worked off by some 64 threads. With thousands
//     of endless loops, the number of threads grows with the square root of the time, and no goroutine waits for ever.
#pragma once

#include "core/sched.h"

#include <cstdint>

namespace thrum::rt {

// The body of the signal handler. Pauses the thread if it was asked to and may be stopped where it is.
void answer_pause_signal(void const* ucontext) noexcept;

// Handles a request that came while the mark was set. Called by leave_runtime(), with the mark clear.
void pause_if_still_asked(M& m) noexcept;

// m's goroutine, which was asked to pause, has entered the runtime. If it has changed the mask of the thread, it leaves
// m by way of g0, where m restores its own mask.
void look_at_mask(M& m) noexcept;

}  // namespace thrum::rt
