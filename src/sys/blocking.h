// System calls that are announced: thrum::blocking (S14, S15, S17; Go's entersyscall and exitsyscall).
//
// A goroutine in the kernel keeps its thread, but not its P. Most calls are short, so on the way in the P is only marked:
// its M goes on without it, and finds it still there on the way back, with one compare-and-swap and no lock. Meanwhile
// sysmon may take it, by the same compare-and-swap, and hand it to another M. A call declared long gives it away at once.
//
//   P::status   running --begin--> syscall --end--------------> running   (the same M)
//                                     \--sysmon, for_each_proc--> running   (nobody's: handed off)
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
