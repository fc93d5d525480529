// Ms and Ps that part: handing a P off, and an M without a P coming to rest (Go's handoffp, stopm; S22, S31).
//
// Ms are reused. An M that has no P and finds no work rests: as the timekeeper, or in the idle list on its note.
// docs/internals.md describes how an M rests and is woken.
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// Under sched.lock, while no P is idle: takes back the P with which m is to begin, if m's thread has not yet taken it,
// and returns it. m gets the next P for which no M rests; if there is none, it becomes a spare thread. nullptr: there
// was no P to take back.
[[nodiscard]] P* take_back_from_starting_locked(M& m) noexcept;

// Starts an M on p if p's run queue or the global queue has work and an M may be started (may_start_m_locked). If
// neither has work, no other P is idle, no M spins and a thread is available within the limit, starts an M on p that
// spins. Otherwise puts p into the idle list. If the world is being stopped, p stops instead.
void hand_off(Sched& s, P& p) noexcept;
// The same, called with sched.lock held; releases it.
void hand_off_locked(Sched& s, P& p) noexcept;

// m, which holds no P, rests until it has one. Returns true when m holds a P: another thread gave it one, m took one
// for its residents, or m was the timekeeper and its time or an event came. False: the thread must end, because the run
// is over or because sysmon has let this idle M go.
[[nodiscard]] bool rest_until_p(M& m) noexcept;
// The same, called with sched.lock held; releases it.
[[nodiscard]] bool rest_until_p_locked(M& m) noexcept;

// m, which is about to end, leaves its P in the idle list, where for_each_proc finds it.
void retire_p(M& m) noexcept;

}  // namespace thrum::rt
