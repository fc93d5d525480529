// Starting an M on an idle P: the spinning protocol (S13; Go's "delicate dance").
//
// The promise: a runnable goroutine and an idle P do not stay side by side. It must hold without a lock in `go` and
// `ready`, which race with the last searching M while that M gives up. There are three exceptions:
// - A resident waits for its own M, although other Ps are idle (home.h).
// - At the limit of threads a P may stay idle, if paused threads, threads without a P, or Ms that are about to rest
//   will use it (may_start_m_locked). So an M then checks every queue a last time under the lock under which it rests
//   (takes_p_left_idle_locked).
// - A wake-up may be put off. sysmon makes up for it (see below).
//
// The table of queues:
//
//   the thread that publishes work             the M that gives a P up
//   1. puts the work into a queue              1. puts the P into the idle list (idle_state::put), and
//   2. store-load                                 stops spinning if it was spinning (idle_state::end_spin)
//   3. checks whether a P is idle and no M     2. store-load
//      spins; if so, starts an M on a P        3. checks every queue; if one has work, takes a P back
//
// At least one of the two step-3 checks sees the write of the other side. If the publisher sees a spinning M, it need
// do nothing, because that M either comes to step 1 of the right column before it sleeps, or finds work. An M that
// stops spinning because it found work wakes the next M, so a burst of n goroutines ends up on n Ps, one wake-up at a
// time.
//
// One publication has no step 2: the goroutine that put_next moves from runnext to the tail of the run queue. The
// comment on put_next in queues.h says why the exchange of runnext is enough for it.
//
// Every M that gives a P up checks the queues, not only an M that was spinning, because a publisher that saw no idle P
// relies on that check. (In Go only spinning Ms check again. Go makes up for that with a flag, and the price is that
// wakep takes the global lock whenever no M spins. Here a busy machine pays two loads.)
//
// start_spinning_m counts the new spinning M before it has a P for it. If there turns out to be no idle P, the count
// must be taken back *under the lock*. If the lock were released first, a P could go idle in between while another
// publisher relies on a spinning M that never comes.
//
// `ready` does not start an M on an idle P for a goroutine that it puts into an empty runnext. The waker usually blocks
// within a microsecond and then runs that goroutine itself, and starting an M would cost both sides more than that. If
// the waker goes on running instead, sysmon finds the goroutine in the same place and starts an M on an idle P for it
// within some hundred microseconds. For a while after that, the waker's P puts no such wake-up off (P::wakes_at_once).
// With one P there is no other P on which an M could be started.
//
// Two more wake-ups are put off in the same way: the one for a few events whose goroutines are quick (sched/poll.h),
// and the one for a timer that was set by a goroutine which has just readied another goroutine (timer_was_left). sysmon
// must not sleep for long while a wake-up is put off. The table of put-off wake-ups:
//
//   the M that puts a wake-up off              sysmon, before it sleeps for long
//   1. has put the work into a queue           1. watch_state::ask_for_nudge
//   2. store-load                              2. store-load
//   3. checks put_off_is_unwatched and         3. checks whether a P is idle and work waits for which no M
//      whether a P is idle; if both hold,         was started; if so, it sleeps for a moment only
//      it nudges sysmon
//
// If no P is idle, nothing has to be done, because an M that gives its P up later checks every queue, runnext included.
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// Starts an M on one idle P, if a P is idle and no M spins. Returns whether it did. Runs on any stack, with or without
// a P.
bool start_spinning_m(Sched& s) noexcept;

// Starts an M on one idle P as a worker, whether or not an M spins. It is for a batch that is known to need several Ps.
// Does nothing if no P is idle.
void start_working_m(Sched& s) noexcept;

// --- starting an M ---

enum class start_as : bool { working, spinning };

// Starts an M on p. It takes the first of these that there is:
// - an M that rests, as take_resting_m_locked finds it;
// - while goroutines are paused, or at the limit of threads, the thread that sleeps in the frames of the goroutine that
//   has waited longest for its turn;
// - an M with a new thread, which the thread maker makes. Going beyond the limit of threads ends the program.
//
// Called with sched.lock held; releases it. For `spinning` the caller has counted the new spinning M.
void start_m_locked(Sched& s, P& p, start_as how) noexcept;

// Gives p to m, which wants a P and was taken from the global queue; or to the M of a locked goroutine that was taken
// from another queue. If the run is over for m, p goes to the idle list.
void give_p(M& m, P& p) noexcept;

// --- the publisher's side ---

// Step 3 of the left column of the table of queues. The publication before it was a seq_cst operation or was followed
// by store_load_fence.
inline void start_m_if_p_is_idle(Sched& s) noexcept {
  if (s.idle.any_idle() && s.idle.none_spins()) start_spinning_m(s);
}

// Whether a wake-up that will probably turn out to be needless may be put off. `at_once` is the number of wake-ups that
// must not be put off (P::wakes_at_once or P::spreads_at_once); each call uses one up. Called by the owner of the P.
inline bool may_put_off(atomic<std::uint32_t>& at_once) noexcept {
  std::uint32_t const left = at_once.load(relaxed);  // relaxed: a heuristic that orders nothing
  if (left == 0) return true;
  at_once.store(left - 1, relaxed);
  return false;
}
inline bool may_put_off_waking(P& p) noexcept { return may_put_off(p.wakes_at_once); }

// Called with sched.lock held when m is about to rest, without a P. True: at the limit of threads a thread has
// published work and has found no M for an idle P, while m was on its way. m has taken the P, and searches.
[[nodiscard]] bool takes_p_left_idle_locked(M& m) noexcept;

// Steps 2 and 3 of the right column of the table of queues, for a thread that puts a P into the idle list, or that
// takes back the count of a spinning M which will not come. It checks the queues, and starts an M on an idle P instead
// of searching itself.
void start_m_if_work_is_left(Sched& s) noexcept;

// --- the watch over timers and the poller: see sched/timekeeper.h ---

// Wakes an M, which looks at everything and becomes the timekeeper. False: an M was about to do so, or no M can be had.
bool wake_a_watcher(Sched& s) noexcept;

// Step 2 of the left column of the table of timers (timekeeper.h), for the timers of all Ps, after a P was seen idle.
// True: they were not watched, and an M was woken to do so.
bool ensure_timers_are_watched(Sched& s) noexcept;

// The same, and also makes sure that an M sleeps in the poller if a P is idle and a goroutine waits for a descriptor.
// It is for places where a P was given up and no M comes to the right column of the table of timers. If no P is idle,
// sysmon is told of the earliest timer.
bool ensure_all_is_watched(Sched& s) noexcept;

}  // namespace thrum::rt
