// Ms: starting, stopping and ending their threads (Go's startm, stopm, handoffp; S22, S31).
//
// Ms are reused. An M without a P sleeps on its note in the idle list until another thread gives it a P.
#pragma once

#include "core/sched.h"

namespace thrum::rt {

enum class start_as : bool { working, spinning };

// Starts an M on p. It takes the first of these that there is:
// - an M that rests, as take_resting_m_locked finds it;
// - while goroutines are paused, or at the limit of threads, the thread that sleeps in the frames of the goroutine that
//   has waited longest for its turn;
// - an M with a new thread, which the thread maker makes. Going beyond the limit of threads ends the program.
//
// Called with sched.lock held; releases it. For `spinning` the caller has counted the new spinning M.
void start_m_locked(Sched& s, P& p, start_as how) noexcept;

// An M that has nothing to do: an M that is called (sched/home.h), else an idle M, else the timekeeper. It belongs to
// the caller, which gives it a P and, if `sleeps` is true, wakes its note. Under sched.lock.
struct resting_m {
  M* m = nullptr;
  bool sleeps = false;
};
[[nodiscard]] resting_m take_resting_m_locked(Sched& s) noexcept;
// The same for an M that the caller chooses, and that rests. Returns whether it sleeps.
[[nodiscard]] bool take_from_rest_locked(M& m) noexcept;

// Under sched.lock: whether an M whose thread is being made can be had for a P, and such an M. It is an M that is
// starting without a P, or a new one within the limit of threads. The caller rings the thread maker.
[[nodiscard]] bool may_have_starting_m_locked(Sched const& s) noexcept;
[[nodiscard]] M& starting_m_locked(Sched& s) noexcept;

// Under sched.lock: whether start_m_locked would find a thread, or may make one.
[[nodiscard]] bool a_thread_can_be_had_locked(Sched const& s) noexcept;

// Under sched.lock: whether start_m_locked should be called. At the limit of threads a P stays idle, instead of ending
// the program, if threads that were preempted can use it. These are the threads that are paused and those that compute
// without a P: they take an idle P as soon as they enter the runtime or the signal reaches them (T05). If there are
// more idle Ps than such threads, the program needs more threads than it may have, whatever these threads do.
[[nodiscard]] bool may_start_m_locked(Sched const& s) noexcept;

// Under sched.lock, while no P is idle: takes back the P with which m is to begin, if m's thread has not yet taken it, and returns it. m
// gets the next P for which no M rests; if there is none, it becomes a spare thread. nullptr: there was no P to take
// back.
[[nodiscard]] P* take_back_from_starting_locked(M& m) noexcept;

// Gives p to m, which wants a P and was taken from the global queue; or to the M of a locked goroutine that was taken
// from another queue. If the run is over for m, p goes to the idle list.
void give_p(M& m, P& p) noexcept;

// Gives p to an M if there is work for it, or to an M that searches if no P is idle and no M searches. Otherwise p goes
// to the idle list.
void hand_off(Sched& s, P& p) noexcept;

// Puts m, which holds no P, to sleep until another thread starts it. False: the run is over, and the thread must end.
[[nodiscard]] bool stop_m(M& m) noexcept;
// The same, called with sched.lock held; releases it.
[[nodiscard]] bool stop_m_locked(M& m) noexcept;

// Makes the thread of an M. Runs on the thread maker. A failure ends the program (S22).
void start_thread(Sched& s, M& m) noexcept;

// A spare thread belongs to an idle M that is no goroutine's home. The signal handler that ends a slice makes no thread
// (T01): it takes the spare one and orders the next.
//
// Under sched.lock: orders a spare thread if there is none, none is on its way and none is ordered, and if `more` more
// goroutines may be paused and as many more threads be made. True: it was ordered, and the caller has to ring the
// thread maker.
[[nodiscard]] bool order_spare_locked(Sched& s, std::int32_t more) noexcept;
// The same for a thread that sees that a slice will soon be over. It takes the lock and rings the thread maker itself.
void see_that_one_is_spare(Sched& s) noexcept;
// Makes the spare thread, on the thread maker. It makes none if a spare thread has come meanwhile, or if there cannot
// be more threads.
void start_spare_thread(Sched& s) noexcept;

// Joins m's thread if it has ended, and keeps the record for reuse. False: the thread has not ended. If `gives_up` is
// set, such a thread is detached instead. Runs on the thread maker.
[[nodiscard]] bool join_ended_thread(Sched& s, M& m, bool gives_up) noexcept;

// m takes p, which no thread holds.
void acquire_p(M& m, P& p) noexcept;

// m, which is about to end, leaves its P in the idle list, where for_each_proc finds it.
void retire_p(M& m) noexcept;

// Sets up what an M needs before it can run goroutines on the calling thread; returns 0 or the errno. release_thread
// undoes it.
[[nodiscard]] int adopt_thread(M& m) noexcept;
void release_thread(M& m) noexcept;

// Ends all Ms except the caller's (sched/end_all_ms.cpp). Ms in user code are asked by the signal to stop there for
// good. Waits until all have come to rest, for at most `patience_ns`. `world_is_kept` is the result of
// keep_world_running.
struct end_of_ms {
  int threads_left;  // threads that were stopped in user code, or are in user code or in the kernel
  // All threads_left were stopped. If false, the others stop at their next scheduling point, and what they may touch
  // must be left alone.
  bool all_rest;
};
[[nodiscard]] end_of_ms end_all_ms(Sched& s, std::int64_t patience_ns, bool world_is_kept) noexcept;

// Whether m's thread is inside the runtime and will come out of it, or to its end, without any other thread's help.
// Such a thread may be about to change an object that outlives the run. It may also sleep in the kernel at this moment,
// for a lock of the runtime or in a page fault. False: it is in user code, was stopped there for good, is paused, or
// waits for the other Ps. Takes sched.lock.
[[nodiscard]] bool is_active_inside(M const& m) noexcept;

}  // namespace thrum::rt
