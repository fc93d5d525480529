// Which M watches the timers while Ps are idle (S27).
//
// The promise: while a P is idle, either the timekeeper or sysmon watches the earliest timer of all Ps, busy ones
// included, so an M will be awake when it is due. The *timekeeper* is the one resting M that watches the timers and the
// poller. sysmon watches far-off timers while a P is busy, and timers whose check was put off (see below). An idle
// program with one goroutine in a sleep loop costs one futex sleep per round.
//
// The table of timers:
//
//   the M that adds a timer which becomes the      the M that has given a P up and goes to sleep, under sched.lock
//   first of its P's heap
//   1. stores next_when                            1. becomes the timekeeper if there is none, or if the present one
//   2. checks whether a P is idle, and whether        sleeps until a later time; watch_state::watch_until
//      there is no timekeeper or it sleeps until   2. checks next_when of every P, and sleeps until the earliest
//      a later time; if so, wakes the timekeeper
//      to look again, or another M
//
// All of these accesses are seq_cst, so at least one of the two checks sees the write of the other side. A spinning M
// counts as a watcher, because it comes to the right column, or finds work. In that case it wakes the next M to search
// if a P is idle. An M that has begun to spin has a pending watch check (core/idle_state.h).
//
// The check on the left can be put off in two cases. First, a goroutine that sleeps or waits with a time limit leaves
// its M to look for work. If there is none, the M comes to the right column anyway. So the check is put off
// (M::watch_check_pending) until the M has found other work.
//
// Second, if the next goroutine is one that the sleeping goroutine has just readied, the check is put off until that
// goroutine blocks. A goroutine that paces others in this way should not make them wait for a wake-up of some
// microseconds. sysmon makes up for that, as it does for the put-off wake-ups of wake.h.
//
// While a P is busy, sysmon watches a far-off timer. It looks at least twice before that timer is due
// (sysmon_link::longest_pause_ns), and wakes an M in time. So an M that slept in the poller and has found an event
// there wakes no other M to watch in its place, because it usually comes back to that sleep within some microseconds.
// Otherwise a server with time limits of seconds, or with something to do ten times a second, would pay for every event
// with a wake-up, and would then have two Ms taking turns in the poller.
//
// Where a P is given up and no M comes to the right column, all Ps may be idle afterwards, and sysmon asleep. There
// every timer counts (ensure_all_is_watched).
//
// While no P is idle, no M becomes the timekeeper. Every P looks at its own timers after it has run 61 goroutines.
// sysmon does not sleep past the next timer for longer than a millisecond; it makes a P whose timer is due look at its
// next switch (P::runs_to_look). If the M of that P is in a system call, sysmon takes the P from it. sysmon is told of
// a timer that it would sleep past (make_sysmon_watch):
// - by the M that sets the timer, in place of step 2 on the left, unless there is only one P (timer_was_added says
//   why);
// - by an M that enters a system call and leaves timers behind;
// - by an M that was the timekeeper, and that finds no idle P when its sleep is over, or was taken to use the last idle
//   P;
// - by an M that was started to search on the last idle P and has found work, and by a thread that wanted to start one
//   and found that P taken (start_spinning_m);
// - where a P changes hands and no M comes to the right column (ensure_all_is_watched).
//
// If a goroutine waits for a descriptor, the timekeeper sleeps in the poller (sched/poll.h), also if there is no timer.
// Only one M may sleep there, so an M that would take the watch over from it makes it look again instead.
//
// The timekeeper rests (M::rests), but it is in no list of idle Ms. While there is a timekeeper, none_can_run_by_itself
// is false, because pending timers are no deadlock. When its time has come, it takes an idle P and runs the timers that
// are due. It does not count as spinning then, because no thread relies on it. A thread that needs an M and finds none
// idle takes the timekeeper, which has a pending watch check from then on.
#pragma once

#include "core/sched.h"
#include "sched/watch.h"

namespace thrum::rt {

// Step 2 of the left column of the table of timers, on an M that goes on with other work.
void check_watch(M& m) noexcept;

inline void do_pending_watch_check(M& m) noexcept {
  if (!m.watch_check_pending) return;
  m.watch_check_pending = false;
  check_watch(m);
}

// Called after m, which holds a P, has added a timer.
void timer_was_added(M& m, added_as place) noexcept;
// The same in the commit step of a goroutine that waits for the timer.
void timer_was_left(M& m, added_as place) noexcept;

// --- the timekeeper ---

enum class watch_ends : std::uint8_t {
  with_p,       // m holds a P
  check_state,  // m's state says what comes next: m was given a P (M::next_p), has to end, or rests again
};

// Sleeps until task.until_ns, or until another thread has work for m.
[[nodiscard]] watch_ends keep_time(M& m, timekeeper_task task) noexcept;

}  // namespace thrum::rt
