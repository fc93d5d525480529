// System calls that are announced: thrum::blocking (S14, S15, S17; Go's entersyscall and exitsyscall).
//
// A goroutine in the kernel keeps its thread, but not its P. Most calls are short, so on the way in the M only marks
// the P as being in a system call and goes on without it. As a rule the M finds the P there on the way back, and takes
// it without a lock or an atomic exchange. Meanwhile sysmon may take the P and hand it to another M. A thread that
// stops the world or needs every P may take it too. A call that is declared long gives the P away at once.
//
//   P::status   running --begin--> syscall --end--------------> running   (the same M)
//                                     \--a claimant takes it--> running   (without an M, to be handed off)
//
// The claimant pays for the synchronisation of both sides (core/claims.h).
//
//   the claimant                                        the M that comes back
//   1. claims the P; only one thread can hold a claim   1. sets its mark
//   2. makes all threads pass a barrier                 2. looks for a claim (only a compiler barrier in between)
//   3. gives up if the mark of the P's M is set         3. no claim: it has its P back. A claim: it waits until the
//   4. makes all threads pass a barrier once more. If      claim has ended. If M::away_from names the P then, it has
//      that M still has the P marked, clears               its P back, and hands it on at once if the claim was made
//      M::away_from, and the P is the claimant's           because the slice is over
//   5. ends the claim
//
// Each side does its step 1 before its step 2, so at least one side sees the other. The mark that the claimant saw
// clear in step 3 may have been cleared a moment before, by an M that had come back and left, so the second barrier is
// needed. Where the kernel has no such barrier, begin_blocking gives the P away at once.
//
// An M has three ways back: it takes its old P; it takes an idle P; or, if there is none, its goroutine goes to the end
// of the global queue and the M sleeps.
//
// The function that is called without a P may itself use the runtime: a channel, a mutex, `go`. Entering the runtime
// then first gets a P (M::attention), and leaving the runtime gives it up. In that case the goroutine must stay on its
// thread, because the frames of its caller belong to that thread. If there is no P, the thread waits, and its M stands
// in the global queue.
#pragma once

#include "core/sched.h"
#include <thrum/blocking.h>

namespace thrum::rt {

// --- the way out: m has set its mark and has a P. Afterwards it has none ---

// Leaves the P where m may find it on the way back, or gives it away if the call is declared long.
void leave_p(M& m, blocking_hint hint) noexcept;
// The same. Then m is away: its mark is clear, and its next way into the runtime leads through entered_with_attention.
void go_away(M& m, blocking_hint hint) noexcept;

// --- the way back of a goroutine that must stay on its thread. The caller has set the mark ---

// Returns false if the run is over; m has no P then.
[[nodiscard]] bool comes_back_on_this_thread(M& m) noexcept;
// The same. If the run is over, it does not return.
void come_back_on_this_thread(M& m) noexcept;

// m's thread was found in user code without a P, after a call that was not announced (sys/unannounced.h). It gets a P
// here, or waits for one here. The caller has set the mark.
void get_p_in_user_code(M& m) noexcept;

}  // namespace thrum::rt
