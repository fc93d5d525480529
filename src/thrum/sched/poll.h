// The network poller as a source of runnable goroutines (S25; Go's netpoll).
//
// Three kinds of threads poll:
// - An M that searches, and finds nothing in its run queue and in the global queue, polls without blocking if a
//   goroutine waits for a descriptor and no M sleeps in the poller (find_runnable).
// - The timekeeper sleeps in the poller instead of on its note, as soon as a goroutine waits for a descriptor
//   (timekeeper.h).
// - sysmon polls if no thread has polled for 10 ms, because then all Ps are busy (NE-16). This is Go's rule. An M whose
//   queues are never empty does not poll, so while all Ps are busy in short turns, a descriptor that is ready waits for
//   10 ms, and for up to 10 ms more if sysmon itself sleeps for that long. sysmon also polls if a P is idle and no M is
//   in the poller: see below.
//
// Why no event is lost. The kernel keeps an event until a thread fetches it. The thread that fetches it writes it into
// the descriptor's readiness word (core/poll_desc.h) before it does anything else. So it is enough that some thread
// polls. The table of descriptors:
//
//   the goroutine that waits for a descriptor    the M that gives a P up, under sched.lock
//   1. is counted (poll_state::waiter)           1. puts the P into the idle list
//   2. its M looks for other work. If it finds   2. checks whether one is counted; if so, sleeps in the
//      none, it comes to the right column. If       poller, unless another M does
//      it is busy, it polls when it next runs
//      out of work, or sysmon polls
//
// The number of waiters and the idle list are seq_cst. If hand_off gives a P up, no M comes to the right column, so
// hand_off calls ensure_all_is_watched afterwards. Unlike a timer, a descriptor may stay unwatched beside an idle P for
// some looks of sysmon. The M that slept in the poller is then busy with the events that came, and waking another M for
// each event would cost more than most events take. If that M goes on polling by itself, no other M needs to. If it
// does not, because a goroutine computes, sysmon polls, and has another M sleep in the poller, 100 us after the look
// that found it so. That look comes at once if all Ps were idle for long, within 0.5 ms where events are frequent, and
// within 10 ms otherwise. If sysmon's poll finds an event, this event has waited beside an idle P. For a second after
// that, sysmon looks every 250 us, so an event waits for less than half a millisecond. If each M that leaves the poller
// nudged sysmon instead, all quick events would pay for that (decision 016).
//
// When no M is started on an idle P for the events that came. Waking an M costs both sides some microseconds, and the M
// arrives when a goroutine that only answers a question has long done so. So the M that has fetched several events
// keeps them all in the run queue of its own P, if
// - at the recent pace (core/pace.h) they take hardly longer in all than another M takes to come and fetch its share;
// - the M has slept within the last millisecond. An M that goes from batch to batch without a pause is not enough for
//   what comes, however few events there are in each batch;
// - sysmon has not found lately that this was a mistake (P::spreads_at_once).
//
// This is a put-off wake-up like that of wake.h, and sysmon makes up for it:
// - The goroutines are in the run queue of a P that is about to run them. An M that gives a P up later checks this run
//   queue like every other, and takes a part. Whatever takes the M away from this P (a call, the end of a slice, a
//   locked goroutine) gives the P, with all that it has, to another M.
// - If one of the goroutines computes or sleeps in the kernel, those behind it wait for sysmon. sysmon finds a run
//   queue in which a goroutine waits and from which none was taken between two looks, beside an idle P, and starts an M
//   on the idle P. It looks every 250 us while such batches come. If it sleeps for longer when the first of them comes,
//   the M that keeps that batch nudges it (sys/put_off_watch.h). An event that comes a moment later waits as long,
//   because no M sleeps in the poller then. A goroutine that announces its call while others are behind it makes sysmon
//   look at once (sys/blocking.cpp).
// - The timers do not depend on this. The M that was the timekeeper has a check pending, and makes it before it runs
//   the first goroutine (M::watch_check_pending), so that another M watches the timers if there are any. Timers that
//   are due at the same time as the events are run before them, and an M is started on an idle P for the goroutines
//   that they make runnable.
// - The global queue has its turn at every 61st tick, as always, and all of it is taken before the next poll.
//
// A slow goroutine makes the pace slow, and the next batches are spread at once. A dozen quick batches later it is
// forgotten.
//
// Why no wake-up is lost. An M that sleeps in the poller has said so in its note (os/note.h) before, and a thread that
// wakes the note notifies the poller. But another thread can fetch that event: a thread that polls without blocking, or
// the next M that sleeps in the poller, because the M that was to be notified takes some time to leave.
//
// So a thread that finds a notification while other Ms are in the poller repeats it. The M is counted
// (poll_state::enter) before the note says that the M polls, and the poller is notified after the waker has seen the
// note in that state. At most one M in the poller has not been woken, because there is one timekeeper. If that M finds
// a notification, it first waits until the others are out. A notification that no M needs ends the next sleep for
// nothing, and that M goes on sleeping.
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// Polls without blocking. The goroutines that can go on are put into `runnable`: their status is runnable, but they are
// in no queue.
void look_at_poll(Sched& s, g_list& runnable) noexcept;

// Sleeps in the poller until m's note is woken, a goroutine can go on, or the time has come. m has no P.
struct poll_sleep {
  bool woken;  // m's note was woken
  bool time_has_come;
};
[[nodiscard]] poll_sleep sleep_in_poll(M& m, std::int64_t until_ns, g_list& runnable) noexcept;

// Puts the goroutines that a poll found where they can run. If m's own P is enough, all go there. Otherwise the first
// goes there, and inject (runnable.h) spreads the others over idle Ps and m's P. If m has no P, all go to the global
// queue.
void run_polled(M& m, g_list& runnable) noexcept;

}  // namespace thrum::rt
