// The network poller as a source of runnable goroutines (S25; Go's netpoll).
//
// Who polls:
//  - an M that searches and finds nothing in its ring and the global queue looks, without waiting, if somebody waits for a
//    descriptor and nobody sleeps in the poll (find_runnable);
//  - the M that keeps the time while Ps are idle sleeps in the poll instead of on its note, as soon as somebody waits for a
//    descriptor (timekeeper.h);
//  - sysmon, if nobody has for 10 ms: all Ps are busy (NE-16).
//
// Why no event is lost. The kernel keeps an event until somebody fetches it, and whoever fetches it writes it into the
// descriptor's readiness word (core/poll_desc.h) before he does anything else. So it is enough that somebody polls:
//
//   whoever waits for a descriptor               whoever gives a P up, under sched.lock
//   1. poll_waiters grows                        1. puts the P into the idle list
//   2. its M looks for other work: it finds      2. looks at poll_waiters: not 0, then it sleeps in the poll,
//      none, and comes to the right column,         unless somebody does
//      or is busy: then it polls when it next
//      runs out of work, or sysmon does
//
// poll_waiters and the idle list are seq_cst: a P that is given up by hand_off, behind whose back nobody comes to the right
// column, is followed by a look of see_that_all_is_watched. Unlike a timer, a descriptor may stay unwatched beside an idle P for
// some looks of sysmon: the M that slept there is busy with what came, and waking another one for each event would cost more
// than most of them take. If it goes on looking by itself nobody else needs to.
//
// When nobody is woken for what came. Waking an M costs both sides some microseconds, and it arrives when a goroutine that only
// answers a question has long done so. So whoever has fetched several events keeps them all in the ring of its own P, if
//  - at the pace of late (core/pace.h) they take hardly longer in all than another M takes to come and fetch its share;
//  - its M has slept within the last millisecond. One that goes from batch to batch without a pause is not enough for what comes,
//    however few there are in each;
//  - sysmon has not found lately that this was a mistake (P::spreads_at_once).
// It is a wake-up that is put off, as the one in wake.h, and sysmon makes it good:
//  - They are in the ring of a P that is about to run them. Whoever gives a P up later looks at this ring as at every other, and takes
//    part; what takes this P's M away (a call, the end of a slice, a locked goroutine) gives the P to another one with all it has.
//  - If one of them computes or sleeps in the kernel, those behind it wait for sysmon. It finds a ring where a goroutine waits and
//    none was taken out between two looks, beside an idle P, and wakes one. It makes these looks every 250 us while such batches come; if
//    it sleeps for longer when the first of them comes, the M that keeps that batch nudges it (sys/put_off_watch.h).
//    An event that comes a moment later waits as long, since nobody sleeps in the poll then. One that announces its call with
//    others behind it has sysmon look at once (sys/blocking.cpp).
//  - The timers do not depend on it. The M that kept the time owes a look and pays before it runs the first (M::owes_watch), so
//    that somebody else keeps it if there is any; those that are due beside the events are run before them, and wake
//    somebody for what they bring.
//  - The global queue has every 61st turn as ever, and all of it before the next look at the poll.
// A slow goroutine makes the pace slow, and the next batches are spread at once; a dozen quick batches later it is forgotten.
//
// Why no wake-up is lost. Who sleeps in the poll has said so in its note (os/note.h) before: whoever wakes the note rings the
// bell. But the bell can be found by somebody else: by one who only looks, or by the next who sleeps there, since the one whom
// it was meant for takes his time to leave. So whoever finds it while others are in there rings it again: `in_poll` grows before
// the note says so, and the bell is rung after that was seen. At most one who sleeps there is not woken (there is one
// timekeeper), so if it is he who finds it, he first waits until the others are out. A bell that nobody needs any more ends the
// next sleep for nothing, and that one goes on sleeping.
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// Whether a look may bring something, and nobody else is about to get it. A look too many or too few does no harm; acquire pairs
// with whoever waits: the poll was opened before.
[[nodiscard]] inline bool poll_is_worth_a_look(Sched const& s) noexcept {
  return s.poll_waiters.load(acquire) != 0 && s.in_poll.load(relaxed) == 0;
}

// Looks without waiting. Who can go on now is in `runnable`, made runnable but in no queue.
void look_at_poll(Sched& s, g_list& runnable) noexcept;

// Sleeps in the poll until m's note is woken, somebody can go on, or the time has come. m has no P.
struct poll_sleep {
  bool woken;  // the note
  bool time_has_come;
};
[[nodiscard]] poll_sleep sleep_in_poll(M& m, std::int64_t until_ns, g_list& runnable) noexcept;

// What was found goes where it can run: to m's own P if that is enough, else the first, and the others to idle Ps as well. Without a
// P, all of them.
void run_polled(M& m, g_list& runnable) noexcept;

}  // namespace thrum::rt
