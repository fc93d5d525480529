// A thread that sleeps in the kernel in a call that was not announced, such as a plain read or a pthread mutex (T04).
//
// Nothing in user code tells the scheduler about such a call. sysmon sees from outside that the thread sleeps, and
// takes its P while the wait goes on in the kernel. sysmon never sends the thread a signal for that, because the signal
// would end the call early. Back in user code, the thread runs on without a P until it enters the runtime, or until
// sysmon finds it running and makes it queue for a P.
//
// Taking the P races with the thread, which may wake up and enter the runtime at any moment. M::attention decides the
// race:
//
//   sysmon                                              the thread
//   1. sets offered                                     1. sets its mark
//   2. makes all threads pass a barrier                 2. looks at attention (only a compiler barrier in between)
//   3. if the mark is clear, offered -> being_taken     3. if it is offered, clears that bit and keeps its P; if it is
//   4. makes all threads pass a barrier once more. If      being_taken, waits until it is away, and then comes back
//      it is still being_taken, takes the P, and then
//      sets away | unannounced
//
// Where there is no membarrier, sysmon looks whether the thread sleeps instead of steps 2 and 4, and gives up if it
// does not. That has the same effect on this one thread (os/thread_state.h).
//
// Each side does its step 1 before its step 2, so at least one side sees the other. Both changes in step 3 are
// compare-and-swaps of the same word. The mark that sysmon saw clear may have been cleared a moment before, after the
// first barrier, so the second barrier is needed.
#pragma once

#include "core/sched.h"
#include "os/thread_state.h"

#include <cstdint>

namespace thrum::rt {

// `no_thread`: the limit of threads is reached and no thread could use the P, so the P stays where it is.
enum class take_p_outcome : std::uint8_t { done, is_awake, no_thread };

// Runs on sysmon. `state` is what sysmon has just seen of m's thread, by means of `thread` if possible. `done`: p was
// taken and handed on.
[[nodiscard]] take_p_outcome take_p_of_sleeper(Sched& s, P& p, M& m, os::thread_state const& state,
                                               os::thread_watch& thread) noexcept;

// Runs on m's own thread, with its mark set. Returns M::attention as it is after the thread has declined the offer, or
// after sysmon has taken the P.
[[nodiscard]] std::uint32_t decide_p_owner(M& m) noexcept;

}  // namespace thrum::rt
