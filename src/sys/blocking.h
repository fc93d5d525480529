// System calls that are announced: thrum::blocking (S14, S15, S17; Go's entersyscall and exitsyscall).
//
// A goroutine in the kernel keeps its thread, but not its P. Most calls are short, so on the way in the P is only marked:
// its M goes on without it, and finds it still there on the way back, without a lock or an atomic exchange. Meanwhile
// sysmon may take it, and hand it to another M; so may whoever stops the world or needs every P. A call declared long gives it away at once.
//
//   P::status   running --begin--> syscall --end--------------> running   (the same M)
//                                     \--others--> running   (nobody's: handed off)
//
// Who takes it pays for both (core/claims.h).
//
//   who takes it                                        the M that comes back
//   1. claims the P, as the only one                    1. sets its mark
//   2. a barrier in all threads                         2. looks for a claim (only a compiler barrier in between)
//   3. its M's mark is set? then gives up               3. none: the P is its own again
//   4. once more a barrier: still marked, by that M?       else waits until the claim is gone, and looks whether M::away_from
//      clears M::away_from, and the P is his                still says so: then the P is its own again, to be handed on at once
//   5. ends the claim                                       if the claim was that its slice is over
//
// Of 1 and 2 on both sides one sees the other. The mark that was seen clear may have been cleared a moment ago, by an M that was back:
// hence the second barrier. Where the kernel has no such barrier, the P is given away at once.
//
// Three ways back: the old P; an idle P; none, then the goroutine goes to the end of the global queue, and its M sleeps.
//
// The function that is called without a P may itself use the runtime: a channel, a mutex, `go`. Entering the runtime then
// comes back first (M::attention), and leaving it goes away again. In that case the goroutine must stay on its thread, whose
// frames are in its caller's hands: without a P the thread waits, and the goroutine is a locked entry of the global queue.
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// m's thread was found in user code without a P, after a call that was not announced (sys/unannounced.h): it gets one, or
// waits for it here. With the mark set.
void get_p_in_user_code(M& m) noexcept;

// What boot puts into m_hooks.
void entered_with_attention(M& m) noexcept;
void left_with_attention(M& m) noexcept;

}  // namespace thrum::rt
