// The end of a run (T02, T03): every thread except the caller's ends or is stopped.
//
//   the thread                                                      what happens to it
//   is idle, is the timekeeper, or waits for a P on its way         it is woken, and ends
//   back from a system call
//   searches for work                                               it sees attend::stopping, and ends
//   sleeps with a locked goroutine that is parked                   it is woken, and ends
//   is foreign, in a call of the runtime (sys/foreign.h)            it stays asleep there, for good
//   is paused in user code (sys/preempt.h)                          it stays asleep, for good
//   is paused in the C library or the vDSO, or in a function        it goes on, until it can be stopped outside of it
//   that the C library has called, or where that cannot be told
//   is in user code                                                 it is signalled, and stays asleep in the handler
//   runs the ender (core/ender.h), and exit() was not called        it goes on, until its goroutine waits
//   is in a signal handler, or in a section that blocks signals     it goes on, until it can be stopped outside of it
//   is in the kernel, or in code in which it must not be stopped    it ends at its next scheduling point, or is
//                                                                   signalled for as long as it computes, also when
//                                                                   run() has returned
#pragma once

#include "core/sched.h"

#include <cstdint>

namespace thrum::rt {

// Ends all Ms except the caller's. Ms in user code are asked by the signal to stop there for good. Waits until all have
// ended or stopped, for at most `patience_ns`. `world_is_kept` is the result of keep_world_running.
struct end_of_ms {
  int threads_left;  // threads that were stopped in user code, or are in user code or in the kernel
  // All threads_left were stopped. If false, the others stop at their next scheduling point, and what they may touch
  // must be left alone.
  bool all_have_stopped;
};
[[nodiscard]] end_of_ms end_all_ms(Sched& s, std::int64_t patience_ns, bool world_is_kept) noexcept;
// After end_all_ms: whether all threads of Ms have ended or were stopped, perhaps after the time limit.
[[nodiscard]] bool all_ms_have_stopped(Sched const& s) noexcept;

// Whether m's thread is inside the runtime and will come out of it, or to its end, without any other thread's help.
// Such a thread may be about to change an object that outlives the run. It may also sleep in the kernel at this moment,
// for a lock of the runtime or in a page fault. False: it is in user code, was stopped there for good, is paused, or
// waits for the other Ps. Takes sched.lock.
[[nodiscard]] bool is_active_inside(M const& m) noexcept;

// Brings all Ms to rest except `exiting`, whose goroutine has called exit(). Inside the runtime.
void stop_all_but(M& exiting) noexcept;

}  // namespace thrum::rt
