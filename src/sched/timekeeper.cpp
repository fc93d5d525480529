#include "sched/timekeeper.h"

#include "os/clock.h"
#include "sched/home.h"
#include "sched/poll.h"
#include "sched/threads.h"
#include "sched/wake.h"

#include <algorithm>
#include <utility>

namespace thrum::rt {
namespace {

// The value of timekeeper_until_ns while the timekeeper is awake to look again. A thread that adds a timer meanwhile
// can rely on the timekeeper.
constexpr std::int64_t looking = 0;

// Wakes the timekeeper. It comes to take_the_watch and computes its time limit anew.
void rouse(Sched& s) noexcept {
  M& keeper = *s.ms.timekeeper();
  withdraw_call(s, keeper);  // it looks at its residents, too
  s.ms.rouse_timekeeper();
  s.timekeeper_until_ns.store(looking, seq_cst);
  keeper.park.wake();
}

bool somebody_waits_for_io(Sched const& s) noexcept { return s.poll_waiters.load(seq_cst) != 0; }

// Steps 1 and 2 of the right column, repeated as long as an earlier timer turns up.
std::int64_t publish_watch(Sched& s, std::int64_t until_ns) noexcept {
  for (;;) {
    s.timekeeper_until_ns.store(until_ns, seq_cst);
    std::int64_t const now_earliest = earliest_timer(s);
    if (now_earliest >= until_ns) return until_ns;
    until_ns = now_earliest;
  }
}

}  // namespace

std::int64_t earliest_timer(Sched& s) noexcept {
  std::int64_t earliest = never_ns;
  for (auto const& p : s.procs) earliest = std::min(earliest, p->timers.next_when());
  return earliest;
}

void have_sysmon_watch(Sched& s, std::int64_t first_ns) noexcept {
  if (first_ns >= s.sysmon_looks_by_ns.load(seq_cst)) return;
  // relaxed: it only saves other threads a nudge; sysmon overwrites it with the time until which it really sleeps
  s.sysmon_looks_by_ns.store(first_ns, relaxed);
  nudge_sysmon(s);
}

std::int64_t earliest_unwatched_timer(Sched& s) noexcept {
  if (s.idle_procs.load(seq_cst) == 0) return never_ns;
  std::int64_t const earliest = earliest_timer(s);
  return s.timekeeper_until_ns.load(seq_cst) <= earliest ? never_ns : earliest;
}

bool poll_is_unwatched(Sched const& s) noexcept {
  return somebody_waits_for_io(s) && s.in_poll.load(seq_cst) == 0 && s.idle_procs.load(seq_cst) != 0;
}

namespace {

// Wakes an M, which looks at everything and becomes the timekeeper. False: an M was about to do so, or no M can be had.
bool call_the_watch(Sched& s) noexcept {
  s.lock.acquire();
  if (s.ms.timekeeper() == nullptr) {
    s.lock.release();
    store_load_fence();  // before wake_one checks whether an M spins
    return wake_one(s);  // that M will find nothing, and become the timekeeper
  }
  bool const does_not_do = !s.ms.timekeeper_is_roused() && (s.timekeeper_until_ns.load(relaxed) > earliest_timer(s) ||
                                                            (!s.timekeeper_polls && somebody_waits_for_io(s)));
  if (does_not_do) rouse(s);
  s.lock.release();
  return does_not_do;
}

}  // namespace

// Does not check once more whether a P is idle. If the last idle P is taken meanwhile, sysmon must be told, and wake_one
// or the timekeeper that is woken does so.
bool see_that_timers_are_watched(Sched& s) noexcept {
  std::int64_t const earliest_ns = earliest_timer(s);
  return s.timekeeper_until_ns.load(seq_cst) > earliest_ns && call_the_watch(s);
}

void pay_owed_watch_now(M& m) noexcept {
  Sched& s = m.sched;
  if (s.idle_procs.load(seq_cst) == 0) {
    if (s.procs.size() != 1) have_sysmon_watch(s, earliest_timer(s));  // as in timer_was_added
    return;
  }
  std::int64_t const earliest_ns = earliest_timer(s);
  if (s.timekeeper_until_ns.load(seq_cst) <= earliest_ns) return;
  if (m.p != nullptr && is_far_off(s, earliest_ns, os::monotonic_ns())) {
    count(m.p->counters.put_off);
    return;
  }
  static_cast<void>(call_the_watch(s));
}

bool see_that_all_is_watched(Sched& s) noexcept {
  if (s.idle_procs.load(seq_cst) == 0) {
    have_sysmon_watch(s, earliest_timer(s));
    return false;
  }
  return see_that_timers_are_watched(s) || (poll_is_unwatched(s) && call_the_watch(s));
}

void timer_was_added(M& m, added_as place) noexcept {
  // It is watched with the timer before it. Or there is one P, which looks at its timers when it runs out of work, and
  // at the latest when sysmon finds them due: telling sysmon of each would cost more than the work between two sleeps.
  if (place == added_as::later || m.sched.procs.size() == 1) return;
  if (m.current == nullptr) {
    m.owes_watch = true;
  } else if (m.sched.idle_procs.load(seq_cst) != 0) {
    static_cast<void>(see_that_timers_are_watched(m.sched));
  } else {
    have_sysmon_watch(m.sched, m.p->timers.next_when());
  }
}

void timer_was_left(M& m, added_as place) noexcept {
  bool const paces =
      place != added_as::later && m.sched.procs.size() != 1 && m.current != nullptr && m.current_was_handed;
  if (!paces || !may_put_off_waking(*m.p)) {
    timer_was_added(m, place);
    return;
  }
  m.owes_watch = true;
  m.p->runs_to_look.store(0, relaxed);  // what runs after m.current comes by way of g0, where the check is made
  see_that_put_off_is_watched(*m.p);
}

watch take_the_watch(Sched& s, M& m) noexcept {
  s.lock.assert_held();
  bool const owes_watch = std::exchange(m.owes_watch, false);
  bool const was_roused = s.ms.timekeeper() == &m;
  if (was_roused) static_cast<void>(s.ms.take(m));
  if (s.idle_p_list == nullptr) {  // an M that gives a P up later looks at the timers; until then sysmon does
    if (s.ms.timekeeper() == nullptr) s.timekeeper_until_ns.store(never_ns, seq_cst);
    if (was_roused || owes_watch) have_sysmon_watch(s, earliest_timer(s));
    return {};
  }
  bool const polls = somebody_waits_for_io(s);
  if (s.ms.timekeeper() != nullptr) {
    if (s.ms.timekeeper_is_roused()) return {};
    if (s.timekeeper_until_ns.load(relaxed) <= earliest_timer(s) && (s.timekeeper_polls || !polls)) return {};
    if (s.timekeeper_polls) {
      rouse(s);
      return {};
    }
    // It goes on sleeping as an idle M. No thread relies on its time limit any more.
    s.ms.rest(*s.ms.timekeeper(), os::monotonic_ns());
  }
  watch const taken{publish_watch(s, earliest_timer(s)), polls};
  if (taken) {
    s.ms.make_timekeeper(m);
    s.timekeeper_polls = polls;
  }
  return taken;
}

bool relieve_timekeeper(Sched& s) noexcept {
  s.lock.assert_held();
  s.timekeeper_until_ns.store(never_ns, seq_cst);
  return s.ms.take(*s.ms.timekeeper());
}

void rouse_timekeeper_in_vain(Sched& s) noexcept {
  s.lock.assert_held();
  if (s.ms.timekeeper() != nullptr && !s.ms.timekeeper_is_roused() && earliest_timer(s) == never_ns &&
      !somebody_waits_for_io(s)) {
    rouse(s);
  }
}

namespace {

// The timekeeper's sleep has ended by itself. True: m has a P, and the goroutines that it found in the poller are
// queued.
bool end_watch(M& m, bool time_has_come, g_list& polled) noexcept {
  Sched& s = m.sched;
  withdraw_call(s, m);  // with or without a P, m looks at its residents
  static_cast<void>(relieve_timekeeper(s));
  P* const p = s.stopping ? nullptr : take_idle_p(s);
  s.lock.release();
  if (p != nullptr) {
    acquire_p(m, *p);
    m.timers_are_due = time_has_come;
    m.owes_watch = true;
  } else {
    have_sysmon_watch(s, earliest_timer(s));  // every P is busy, and sysmon, which relied on m, may sleep
  }
  run_polled(m, polled);
  return p != nullptr;
}

}  // namespace

watch_ends keep_time(M& m, watch its) noexcept {
  Sched& s = m.sched;
  g_list polled;
  poll_sleep end{false, true};
  if (its.polls) {
    end = sleep_in_poll(m, its.until_ns, polled);
  } else {
    end.woken = m.park.sleep_until(its.until_ns);
  }
  m.busy_since_ns = 0;
  if (!end.woken) {
    s.lock.acquire();
    if (s.ms.timekeeper() == &m && !s.ms.timekeeper_is_roused()) {
      return end_watch(m, end.time_has_come, polled) ? watch_ends::with_p : watch_ends::look_again;
    }
    s.lock.release();
  }
  run_polled(m, polled);
  // meanwhile m was taken, woken to look again or put among the idle Ms, so it is woken sooner or later
  if (!end.woken) m.park.sleep();
  m.park.clear();
  return watch_ends::look_again;
}

}  // namespace thrum::rt
