// Waking Ps: the spinning protocol (S13; Go's "delicate dance").
//
// The promise: a runnable goroutine and an idle P never stay side by side. It must hold without a lock on the path of
// `go` and ready, which race with the last searching M giving up.
//
//   whoever publishes work                     whoever gives a P up
//   1. puts it into a queue                    1. puts the P into the idle list (idle_procs grows),
//   2. store-load                                 and stops spinning if it did (spinning shrinks)
//   3. looks: is a P idle and nobody spins?    2. store-load
//      then wakes one                          3. looks at every queue; if there is work, takes a P back
//
// Of the two looks at least one sees the other's write. If the publisher sees a spinning M it need do nothing: that M
// will itself come to step 1 on the right before it sleeps, or find work, and an M that stops spinning because it found
// work wakes the next (so a burst of n ends up on n Ps, one wake-up at a time).
//
// Every M that gives a P up looks at the queues, not only one that was spinning: a publisher that saw no idle P relies on
// it. (Go lets only spinning Ms look again and mends that with a flag, at the price of taking the global lock in wakep
// whenever nobody spins. Here a busy machine pays two loads.)
//
// wake_one counts the new spinner before it has a P. If there is none after all, the count must be taken back *under the
// lock*: released first, another publisher could trust in a spinner that never comes while a P goes idle in between.
//
// `ready` puts one wake-up off: the one for a goroutine that it puts into an empty runnext. The waker usually blocks within a
// microsecond and then runs that goroutine itself, and waking a P would cost both sides more than that. If the waker goes on
// instead, sysmon finds the goroutine where it was, wakes a P for it within some hundred microseconds, and has the waker's P
// wake others at once for a while (P::wakes_at_once). With one P there is no other to wake.
//
// The wake-ups for a few events whose goroutines are quick (sched/poll.h) and for a timer whose setter has just readied another
// goroutine (timer_was_left) are put off in the same way. sysmon must not sleep for long meanwhile:
//
//   the M that puts a wake-up off              sysmon, before it sleeps for long
//   1. has put the work into a queue           1. sets put_off_is_unwatched
//   2. store-load                              2. store-load
//   3. looks: put_off_is_unwatched, and a P    3. looks: is a P idle, and does work wait that nobody was
//      is idle? then nudges sysmon                woken for? then it sleeps for a moment only
//
// Without an idle P there is nothing to do: an M that gives its P up later looks at every queue, runnext included.
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// Gets one P going, if one is idle and nobody spins. Runs on any stack, with or without a P.
void wake_one(Sched& s) noexcept;

// Gets one idle P going as a worker, whoever spins: for a batch that is known to need several. Nothing if none is idle.
void start_idle_p(Sched& s) noexcept;

// Step 3 of the left column; the publication before it was a seq_cst operation or was followed by store_load_fence.
inline void wake_if_idle(Sched& s) noexcept {
  if (s.idle_procs.load(seq_cst) != 0 && s.spinning.load(seq_cst) == 0) wake_one(s);
}

// Whether a wake-up that will probably turn out to be needless may be put off: `at_once` is how many more are not, P::wakes_at_once
// or its like. By the owner of the P.
inline bool may_put_off(atomic<std::uint32_t>& at_once) noexcept {
  std::uint32_t const left = at_once.load(relaxed);  // relaxed: a matter of taste, not of order
  if (left == 0) return true;
  at_once.store(left - 1, relaxed);
  return false;
}
inline bool may_put_off_waking(P& p) noexcept { return may_put_off(p.wakes_at_once); }

// Has sysmon look at everything now, out of whatever sleep. Anybody.
void ring_sysmon(Sched& s) noexcept;

// Has sysmon, if it sleeps, only decide anew how long: it looks at what was put off and at the timers. Anybody.
void nudge_sysmon(Sched& s) noexcept;
// What its bell shows of the calls of ring_sysmon: the nudges are in the lower half. One in 65,536 nudges looks like a ring.
[[nodiscard]] constexpr std::uint32_t rings_of(std::uint32_t bell) noexcept { return bell >> 16U; }

void have_put_off_watched(Sched& s) noexcept;
// Step 3 of the left column of the second table. By the owner of p.
inline void see_that_put_off_is_watched(P& p) noexcept {
  p.has_put_off.store(true, relaxed);  // relaxed: how sysmon chooses its pace
  if (p.sched.put_off_is_unwatched.load(seq_cst) && p.sched.idle_procs.load(seq_cst) != 0) [[unlikely]]
    have_put_off_watched(p.sched);
}

// Under sched.lock: the idle list.
void put_idle_p(Sched& s, P& p) noexcept;
[[nodiscard]] P* take_idle_p(Sched& s) noexcept;

// Step 3 of the right column: whether any queue shows work.
[[nodiscard]] bool work_anywhere(Sched& s) noexcept;

// The right column for one who stops searching, or puts a P away, on behalf of others: looks again, and wakes instead of searching on.
void wake_if_work_is_left(Sched& s) noexcept;

}  // namespace thrum::rt
