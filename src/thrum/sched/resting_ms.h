// Ms that can be had for a P: Ms that rest, and Ms whose thread is being made.
//
// All of this is under sched.lock, except where a comment says otherwise. Nothing here wakes a thread or makes one,
// except where a comment says so. The caller does that when it has released the lock.
#pragma once

#include "core/sched.h"
#include "core/trace.h"

namespace thrum::rt {

// If m, which rests, stands in the global queue to get a P for its residents (M::wants_p), takes it out, because it
// gets a P in another way, is roused or has to end.
inline void leave_global_queue(Sched& s, M& m) noexcept {
  if (!m.wants_p) [[likely]]
    return;
  s.global_queue.withdraw(m);
  trace::global_queue_changed(s);
}

// Ends the timekeeper's task. The caller takes the timekeeper for other work, or is the timekeeper itself. Returns
// whether the timekeeper's note has to be woken.
[[nodiscard]] bool relieve_timekeeper(Sched& s) noexcept;

// An M that rests. The order is: an M that wants a P for its residents (sched/home.h), an idle M, the timekeeper. The M
// belongs to the caller, which gives it a P and, if is_to_be_woken is true, wakes its note. It is false for a
// timekeeper that was roused, because that M's note was woken already. Under sched.lock.
struct resting_m {
  M* m = nullptr;
  bool is_to_be_woken = false;
};
[[nodiscard]] resting_m take_resting_m_locked(Sched& s) noexcept;
// The same for an M that the caller chooses, and that rests. Returns whether its note has to be woken.
[[nodiscard]] bool take_from_rest_locked(M& m) noexcept;

// Under sched.lock: whether an M whose thread is being made can be had for a P, and such an M. It is an M that is
// starting without a P, or a new one within the limit of threads. The caller notifies the thread maker.
[[nodiscard]] bool may_have_starting_m_locked(Sched const& s) noexcept;
[[nodiscard]] M& starting_m_locked(Sched& s) noexcept;

// Under sched.lock: whether start_m_locked would find a thread, or may make one.
[[nodiscard]] bool thread_is_available_locked(Sched const& s) noexcept;

// Under sched.lock: whether start_m_locked should be called. At the limit of threads a P stays idle, instead of ending
// the program, if threads that were preempted can use it (T05). Paused threads get an idle P when their turn comes.
// Those that compute without a P take one when they enter the runtime or the signal reaches them. The same holds if Ms
// are about to rest: each looks for work once more before it does (takes_p_left_idle_locked in sched/wake.h). If there
// are more idle Ps than such threads, the program needs more threads than it may have, whatever these threads do.
[[nodiscard]] bool may_start_m_locked(Sched const& s) noexcept;

// Gives p to m, which rests, and wakes it. Called with sched.lock held; releases it.
void give_p_to_resting(Sched& s, M& m, P& p) noexcept;

// --- spare threads ---

// A spare thread belongs to an idle M that is no goroutine's home. The signal handler that ends a slice makes no thread
// (T01): it takes the spare one and orders the next.
//
// Under sched.lock: orders a spare thread, unless one exists, is being made or is ordered. Requires that `more` further
// goroutines may be paused, and that as many further threads may be made. True: it was ordered, and the caller has to
// notify the thread maker.
[[nodiscard]] bool order_spare_locked(Sched& s, std::int32_t more) noexcept;
// The same for a thread that sees that a slice will soon be over. It takes the lock and notifies the thread maker
// itself.
void ensure_spare_thread(Sched& s) noexcept;
// Under sched.lock: an M for the spare thread that was ordered, which the caller makes. nullptr: a spare thread has
// come meanwhile, or there cannot be more threads.
[[nodiscard]] M* start_spare_locked(Sched& s) noexcept;
// Whether there may be more threads.
[[nodiscard]] bool may_make_thread_locked(Sched const& s) noexcept;

}  // namespace thrum::rt
