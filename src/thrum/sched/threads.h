// Ms and Ps that part: handing a P off, an M without a P coming to rest, and the end of all Ms (Go's handoffp, stopm;
// S22, S31).
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

// m, which holds no P, rests until it has one. Returns true when m holds a P: another thread gave it one, m took one
// for its residents, or m was the timekeeper and its time or an event came. False: the thread must end, because the run
// is over or because sysmon has let this idle M go.
[[nodiscard]] bool rest_until_p(M& m) noexcept;
// The same, called with sched.lock held; releases it.
[[nodiscard]] bool rest_until_p_locked(M& m) noexcept;

// m, which is about to end, leaves its P in the idle list, where for_each_proc finds it.
void retire_p(M& m) noexcept;

// Ends all Ms except the caller's (sched/end_all_ms.cpp). Ms in user code are asked by the signal to stop there for
// good. Waits until all have ended or stopped, for at most `patience_ns`. `world_is_kept` is the result of
// keep_world_running.
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

}  // namespace thrum::rt
