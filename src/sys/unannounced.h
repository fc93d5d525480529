// A thread that sleeps in the kernel without having said so: a plain read, a pthread mutex (ARCHITECTURE 16; T04).
//
// Nothing in user code tells the scheduler. sysmon sees from outside that the thread sleeps, and takes its P, while the wait
// goes on in the kernel. The thread never gets a signal for that: calls would end early. Back in user code it runs on without
// a P, until it enters the runtime, or sysmon finds it running and has it queue for one.
//
// Taking races with the thread, which may wake and enter the runtime at any moment. M::attention decides:
//
//   sysmon                                              the thread
//   1. offered                                          1. sets its mark
//   2. a barrier in all threads                         2. looks at attention (only a compiler barrier in between)
//   3. mark clear? then offered -> being_taken          3. offered? clears it, and keeps its P
//   4. once more a barrier: still being_taken?             being_taken? waits until it is away, and comes back
//      takes the P, then -> away | unannounced
//
// Of 1 and 2 on both sides one sees the other; both changes of 3 are compare-and-swaps of the same word. The mark that was
// seen clear may have been cleared a moment ago, after the first barrier: hence the second.
#pragma once

#include "core/sched.h"
#include "os/thread_state.h"

#include <cstdint>

namespace thrum::rt {

// `no_thread`: at the limit of threads there is none that could use the P, so that it stays where it is.
enum class taking : std::uint8_t { done, is_awake, no_thread };

// On sysmon: `state` is what was just seen of m's thread. `done`: p was taken, and handed on.
[[nodiscard]] taking take_p_of_sleeper(Sched& s, P& p, M& m, os::thread_state const& state) noexcept;

// On m's own thread, with its mark set: M::attention, after the offer was declined or came true.
[[nodiscard]] std::uint32_t settle_who_has_the_p(M& m) noexcept;

}  // namespace thrum::rt
