// Who watches the timers while Ps are idle (S27).
//
// The promise: while a P is idle, the earliest timer of all Ps, the busy ones' included, is watched: somebody will be awake
// when it is due. It is kept without a helper thread: at most one M without a P, the *timekeeper*, sleeps with a time
// limit. An idle program with one goroutine in a sleep loop costs one futex sleep per round.
//
//   whoever adds a timer that is now the first of   whoever has given a P up and goes to sleep, under sched.lock
//   its P's heap
//   1. stores next_when                             1. becomes the timekeeper if nobody is, or is until a later time;
//   2. looks: is a P idle, and the timekeeper          stores timekeeper_until_ns
//      nobody or asleep until later? Then wakes     2. looks at next_when of every P, and sleeps until the earliest
//      him, to look again, or another M
//
// All of these are seq_cst: of the two looks at least one sees the other's write. A spinning M counts as somebody: it finds work and wakes the next,
// or comes to the right column itself.
//
// A goroutine that sleeps or waits with a limit leaves its M to look for work: if there is none, the M comes to the right
// column anyway. So the look of the left column is put off (M::owes_watch) until it has found something else to do. If what
// comes next is a goroutine that the sleeper has just readied, it is put off until that one blocks: who paces others in this
// way should not make them wait for a wake-up of some microseconds. sysmon watches over that, as over wake.h's put-off
// wake-ups.
//
// A timer that is far off is watched by sysmon while a P is busy: it will look at least twice before that is due
// (Sched::sysmon_pause_ns), and call somebody in time. So the M that slept in the poll, and has found an event there, wakes nobody to
// watch in its place; it usually comes back to that sleep within some microseconds. A server with time limits of seconds, or with
// something to do ten times a second, would pay for every event with a wake-up, and then have two Ms taking turns in the poll.
// Where a P is given up without anybody coming to the right column, all may be idle afterwards, and sysmon asleep: there every timer
// counts (see_that_all_is_watched).
//
// While no P is idle no M becomes the timekeeper. Every P looks at its own timers after 61 goroutines that ran, and sysmon, which does not
// sleep past the next timer for longer than a millisecond, has a P whose timer is due look at its next switch (P::runs_to_look). From a
// P whose M is away in a system call it takes the P. sysmon is told of a timer that it would sleep past (have_sysmon_watch):
//  - by the M that sets one, in the place of step 2 on the left, and by an M that goes away in a system call and leaves some behind;
//  - by an M that was the timekeeper, and finds no idle P when its sleep is over, or was taken to use the last one.
//
// If somebody waits for a descriptor, the timekeeper sleeps in the poll (sched/poll.h), also when there is no timer. Only one
// may: who would take the watch over from it has it look again instead.
//
// The timekeeper is in no list of idle Ms, and at rest it is not: pending timers are no deadlock. When its time has come
// it takes an idle P and runs what is due; it does not count as spinning then, since nobody relies on it. Who needs an M
// and finds none idle takes the timekeeper, who owes a look from then on.
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// The earliest live timer of all Ps; never_ns: there is none.
[[nodiscard]] std::int64_t earliest_timer(Sched& s) noexcept;

// sysmon is nudged if it would sleep past `first_ns`, the time of a timer. The timer was set with seq_cst before this, and sysmon looks at the
// timers after it has said how long it sleeps.
void have_sysmon_watch(Sched& s, std::int64_t first_ns) noexcept;

// The earliest timer if a P is idle and nobody watches it, else never_ns. At this moment: it may be somebody's next step.
[[nodiscard]] std::int64_t earliest_unwatched_timer(Sched& s) noexcept;

// Step 2 of the left column, for all Ps. True: they were not.
bool see_that_timers_are_watched(Sched& s) noexcept;

// The same, and that somebody sleeps in the poll if a P is idle and somebody waits for a descriptor: where a P was given up and no
// M comes to the right column.
bool see_that_all_is_watched(Sched& s) noexcept;
[[nodiscard]] bool poll_is_unwatched(Sched const& s) noexcept;

// So far off that sysmon may see to it.
[[nodiscard]] inline bool is_far_off(Sched const& s, std::int64_t when_ns, std::int64_t now_ns) noexcept {
  return when_ns - now_ns > 3 * s.sysmon_pause_ns.load(relaxed);  // three: a pause may be longer than it should be
}

// Step 2, on an M that goes on with other work.
void pay_owed_watch_now(M& m) noexcept;

inline void pay_owed_watch(M& m) noexcept {
  if (!m.owes_watch) return;
  m.owes_watch = false;
  pay_owed_watch_now(m);
}

// After m, which holds a P, has added a timer.
void timer_was_added(M& m, added_as place) noexcept;
// The same in the commit step of a goroutine that waits for it.
void timer_was_left(M& m, added_as place) noexcept;

// --- under sched.lock ---

// The right column: never_ns and no poll, or m is the timekeeper and sleeps like that.
struct watch {
  std::int64_t until_ns = never_ns;
  bool polls = false;

  explicit operator bool() const noexcept { return until_ns != never_ns || polls; }
};
[[nodiscard]] watch take_the_watch(Sched& s, M& m) noexcept;

// The timekeeper is somebody else's now, or is ended. Answers whether its note is to be woken.
[[nodiscard]] bool relieve_timekeeper(Sched& s) noexcept;

// Nothing is left to wait for, and the timekeeper sleeps for a timer that was stopped or a descriptor that was closed: it looks
// again, and perhaps finds a deadlock.
void rouse_timekeeper_in_vain(Sched& s) noexcept;

// --- the timekeeper ---

enum class watch_ends : std::uint8_t { with_p, look_again };

// Sleeps until then, or until somebody has work for m. with_p: m holds a P now.
[[nodiscard]] watch_ends keep_time(M& m, watch its) noexcept;

}  // namespace thrum::rt
