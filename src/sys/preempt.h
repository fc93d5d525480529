// Preemption of goroutines that do not come to the scheduler by themselves (S18, S19; T01, T03 to T06, T15).
//
// C++ has no safe points: at an arbitrary instruction a goroutine's stack cannot be left, since it may be in the middle of an
// access to a thread-local, or hold a lock of the C library. So its thread is paused, not its stack: the signal handler puts
// the goroutine into the global queue as a locked entry (core/global_run_queue.h), gives the P to another M and sleeps, in the
// handler, until the goroutine's turn comes. Whoever pops the entry hands his P to that thread.
//
// Invariants:
//  1. The handler acts only with the M's mark clear: the thread holds no lock of the runtime. Otherwise it leaves
//     m_attend::pause, and the same is done when the mark is cleared. It never migrates: any call of the runtime may end a slice.
//     Calls that may switch anyway look at the request before they leave, and switch (make_room_if_asked in sched/park.h).
//  2. It does not act while the program counter lies in the C library and its kin (T03): sysmon asks again soon. So what
//     sleeps in the handler holds no lock of theirs, as a rule. One that is never met outside, in a loop over memset perhaps,
//     is paused there after a while: whoever wants its lock sleeps in the kernel then, and gives it his P (T05). In the vDSO, where
//     loops over the clock are met, that is at the second request: few read it with a lock held. But at the end of the run
//     nobody is stopped in either.
//  3. It does nothing while the thread is in a signal handler of the program's or in a section that blocks a signal, on whichever stack:
//     the interrupted mask is not that of all Ms, or the stack pointer lies on the signal stack. What is held there, a handler that has
//     interrupted the runtime on another thread may wait for, with a lock of the runtime's or with the only P; so the holder must go
//     on, and neither a slice's end nor a stop of the world nor the end of the run stops it. Sysmon asks again. A goroutine that
//     changes its thread's mask for good makes room only where it calls the runtime and may switch there. If it was asked to, its M
//     notices the mask when the goroutine next enters the runtime, and takes its own one back on g0, before another goroutine runs
//     there. What cannot be told is a
//     handler with SA_NODEFER, an empty mask and no SA_ONSTACK.
//  4. It makes no thread: the P goes to an M that rests, else to the one that has been paused longest. Without either the
//     preemption does not happen now, and the thread maker makes a spare M (T01).
//  5. A request names the slice it is about, by the P's schedtick. One that comes too late does nothing.
//  6. They do not eat the machine (T05). From half of Sched::paused_max() on, a slice that ends resumes the oldest of them; but
//     every fourth lets others run. From paused_max() on, these are only such as have run before, or were woken: to start
//     one more there must be as many such turns as grow with the excess. So thousands of long computations are worked off by
//     some 64 threads; of thousands of endless loops the number of threads grows by the root of the time, and nobody waits
//     for ever.
#pragma once

#include "core/sched.h"

#include <cstdint>

namespace thrum::rt {

// The signal handler.
void pause_where_it_is(void const* ucontext) noexcept;

// A request that came while the mark was set: with the mark clear, from leave().
void pause_if_still_asked(M& m) noexcept;

// --- also used by blocking.cpp ---

// m's goroutine, which was asked to make room, has entered the runtime. If it has changed the mask of the thread, it leaves m by way of g0,
// where m takes its own mask back.
void look_at_mask(M& m) noexcept;

// After begin_pause_locked, sched/queues.h, m sleeps in user code, and stays asleep when the run ends, until this.
void end_pause(M& m) noexcept;

// The run is over, and the thread, which slept like that, is where it must not be stopped. It goes on until the next signal finds
// it elsewhere; should it enter the runtime before that, it ends there.
void go_on_without_p(M& m) noexcept;

// The run is over, and the thread stays where it is. Returns if that could be with a lock that the program's end needs: if the thread is
// in the C library or the vDSO, or in a function that the C library has called, a constructor of what it loads for example
// (sched/library_frames.h), or if malloc is in the program itself, where its locks cannot be told.
void stop_for_good_if_possible(M& m) noexcept;

}  // namespace thrum::rt
