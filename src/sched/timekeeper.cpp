#include "sched/timekeeper.h"

#include "os/clock.h"
#include "sched/threads.h"
#include "sched/wake.h"

#include <algorithm>

namespace thrum::rt {
namespace {

// Stored while the timekeeper is awake to look again: whoever adds a timer meanwhile can rely on it.
constexpr std::int64_t looking = 0;

// Woken, it comes to take_the_watch and computes anew.
void rouse(Sched& s) noexcept {
  s.timekeeper_awake = true;
  s.timekeeper_until_ns.store(looking, seq_cst);
  s.timekeeper->park.wake();
}

// Its sleep goes on, as that of an idle M: nobody relies on its time limit any more.
void demote_timekeeper(Sched& s) noexcept {
  M& m = *s.timekeeper;
  m.idle_link = s.idle_m_list;
  s.idle_m_list = &m;
  m.idle_since_ns = os::monotonic_ns();
  ++s.ms_idle;
}

// Steps 1 to 3 of the right column.
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

std::int64_t earliest_unwatched_timer(Sched& s) noexcept {
  if (s.idle_procs.load(seq_cst) == 0) return never_ns;
  std::int64_t const earliest = earliest_timer(s);
  return s.timekeeper_until_ns.load(seq_cst) <= earliest ? never_ns : earliest;
}

bool see_that_timers_are_watched(Sched& s) noexcept {
  if (earliest_unwatched_timer(s) == never_ns) return false;
  s.lock.acquire();
  if (s.timekeeper == nullptr) {
    s.lock.release();
    store_load_fence();  // before wake_one looks whether anybody spins
    wake_one(s);         // who will find nothing, and become the timekeeper
    return true;
  }
  bool const sleeps_too_long = !s.timekeeper_awake && s.timekeeper_until_ns.load(relaxed) > earliest_timer(s);
  if (sleeps_too_long) rouse(s);
  s.lock.release();
  return sleeps_too_long;
}

void timer_was_added(M& m, added_as place) noexcept {
  if (place == added_as::later || m.sched.procs.size() == 1) return;  // watched with the one before it; no P is idle
  if (m.current == nullptr) {
    m.owes_watch = true;
  } else {
    static_cast<void>(see_that_timers_are_watched(m.sched));
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
  m.p->runs_to_look = 0;  // whoever comes after this one comes by way of g0, where it is paid
}

std::int64_t take_the_watch(Sched& s, M& m) noexcept {
  s.lock.assert_held();
  m.owes_watch = false;
  if (s.timekeeper == &m) {  // it was roused
    s.timekeeper = nullptr;
    s.timekeeper_awake = false;
  }
  if (s.idle_p_list == nullptr) {  // who gives a P up later will look
    if (s.timekeeper == nullptr) s.timekeeper_until_ns.store(never_ns, seq_cst);
    return never_ns;
  }
  if (s.timekeeper != nullptr) {
    if (s.timekeeper_awake || s.timekeeper_until_ns.load(relaxed) <= earliest_timer(s)) return never_ns;
    demote_timekeeper(s);
    s.timekeeper = nullptr;
  }
  std::int64_t const until_ns = publish_watch(s, earliest_timer(s));
  if (until_ns != never_ns) {
    s.timekeeper = &m;
    s.timekeeper_awake = false;
  }
  return until_ns;
}

bool relieve_timekeeper(Sched& s) noexcept {
  s.lock.assert_held();
  bool const sleeps = !s.timekeeper_awake;
  s.timekeeper = nullptr;
  s.timekeeper_awake = false;
  s.timekeeper_until_ns.store(never_ns, seq_cst);
  return sleeps;
}

void rouse_timekeeper_without_timers(Sched& s) noexcept {
  s.lock.assert_held();
  if (s.timekeeper != nullptr && !s.timekeeper_awake && earliest_timer(s) == never_ns) rouse(s);
}

watch_ends keep_time(M& m, std::int64_t until_ns) noexcept {
  Sched& s = m.sched;
  if (!m.park.sleep_until(until_ns)) {
    s.lock.acquire();
    if (s.timekeeper == &m && !s.timekeeper_awake) {
      static_cast<void>(relieve_timekeeper(s));
      P* const p = s.stopping ? nullptr : take_idle_p(s);
      s.lock.release();
      if (p == nullptr) return watch_ends::look_again;  // every P is busy, and looks at its timers itself
      acquire_p(m, *p);
      m.timers_are_due = true;
      m.owes_watch = true;
      return watch_ends::with_p;
    }
    s.lock.release();
    m.park.sleep();  // it was taken, roused or put among the idle meanwhile: sooner or later it is woken
  }
  m.park.clear();
  return watch_ends::look_again;
}

}  // namespace thrum::rt
