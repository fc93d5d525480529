// Ms: starting, stopping and ending the threads (Go's startm, stopm, handoffp; S22, S31).
//
// Ms are reused: one without a P sleeps on its note in the idle list until somebody hands it a P.
#pragma once

#include "core/sched.h"

namespace thrum::rt {

enum class start_as : bool { working, spinning };

// Gets an M going on p: an idle one, else a new thread, which the thread maker makes; at the limit of threads, the thread of a
// goroutine that waits for its turn there. To go beyond the limit ends the program. Called with sched.lock held; releases it.
// For `spinning` the caller has counted the new spinner.
void start_m_locked(Sched& s, P& p, start_as how) noexcept;

// An M that has nothing to do: an idle one, else the timekeeper. It is the caller's from then on, who gives it a P and, if it
// sleeps, wakes its note. Under sched.lock.
struct resting_m {
  M* m = nullptr;
  bool sleeps = false;
};
[[nodiscard]] resting_m take_resting_m_locked(Sched& s) noexcept;
// The same for one of the caller's choice: whether m rests, and, for one that does, whether it sleeps.
[[nodiscard]] inline bool rests_locked(M const& m) noexcept { return m.is_idle || m.sched.timekeeper == &m; }
[[nodiscard]] bool take_from_rest_locked(M& m) noexcept;
// m rests in the idle list from now on.
void put_idle_m_locked(Sched& s, M& m) noexcept;

// Under sched.lock: whether there may be one more thread, and an M that has none yet, for a P.
[[nodiscard]] bool may_have_unborn_locked(Sched const& s) noexcept;
[[nodiscard]] M& unborn_m_locked(Sched& s) noexcept;

// Under sched.lock: whether start_m_locked would find a thread, or may make one.
[[nodiscard]] bool a_thread_can_be_had_locked(Sched const& s) noexcept;

// Under sched.lock: whether to ask it. At the limit of threads a P stays idle rather than end the program if threads that were preempted
// can use it: those that are paused, or compute without a P, take an idle one as soon as they enter the runtime or are met by the
// signal (T05). With more idle Ps than such threads the program needs more threads than it may have, whatever they do.
[[nodiscard]] bool may_start_m_locked(Sched const& s) noexcept;

// Under sched.lock: the P with which m is to begin, if its thread has not come to that yet. The next P that finds nobody is
// for it then, else it will be a spare one.
[[nodiscard]] P* take_back_from_unborn_locked(M& m) noexcept;

// p goes to the thread that sleeps in the frames of g, whose locked entry was taken from the global queue; or to the home of g.
void give_p_to_thread_of(P& p, G& g) noexcept;

// Gives p to whoever can use it: to an M if it has work, else to the idle list.
void hand_off(Sched& s, P& p) noexcept;

// Puts m, which holds no P, to sleep until somebody starts it. False: the run is over, the thread must end.
[[nodiscard]] bool stop_m(M& m) noexcept;
// The same, called with sched.lock held; releases it.
[[nodiscard]] bool stop_m_locked(M& m) noexcept;

// The thread of an M that was made: on the thread maker. A failure ends the program (S22).
void start_thread(Sched& s, M& m) noexcept;

// A spare thread: idle, and nobody's home. The handler that ends a slice makes no thread (T01): it takes the spare one, and orders the
// next. Under sched.lock, if `more` may still be paused and as many threads be made: whether the thread maker is to be rung, since
// there is none, none is on its way and none was ordered.
[[nodiscard]] bool order_spare_locked(Sched& s, std::int32_t more) noexcept;
// The same by whoever sees that a slice will soon be over.
void see_that_one_is_spare(Sched& s) noexcept;
// And on the thread maker; none if one has come meanwhile, or if there cannot be more.
void start_spare_thread(Sched& s) noexcept;

// m, which sleeps and was taken out of the idle list, ends.
void let_thread_go(M& m) noexcept;
// And its record is to be used again: on the thread maker.
[[nodiscard]] bool bury_thread(Sched& s, M& m, bool gives_up) noexcept;

// m takes p, which nobody holds.
void acquire_p(M& m, P& p) noexcept;

// m, which is about to end, leaves its P where for_each_proc finds it.
void retire_p(M& m) noexcept;

// What an M needs before it can run goroutines on the calling thread, 0 or the errno; and the way back.
[[nodiscard]] int adopt_thread(M& m) noexcept;
void release_thread(M& m) noexcept;

// Ends all Ms but the caller's, in sched/end_all_ms.cpp. Those in user code are asked by the signal to stop there for good.
// Waits until all have come to rest, for `patience_ns` at most. `world_is_kept` is the answer of keep_world_running.
struct end_of_ms {
  int threads_left;  // stopped in user code, or still in it, or in the kernel
  bool all_rest;  // the former. The others stop at their next scheduling point; what they may touch must be left alone
};
[[nodiscard]] end_of_ms end_all_ms(Sched& s, std::int64_t patience_ns, bool world_is_kept) noexcept;

}  // namespace thrum::rt
