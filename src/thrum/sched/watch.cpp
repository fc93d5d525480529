#include "sched/watch.h"

#include "os/clock.h"
#include "sched/resting_ms.h"

#include <algorithm>
#include <utility>

namespace thrum::rt {

namespace {

// Wakes the timekeeper. It comes to take_the_watch and computes its time limit anew.
void rouse(Sched& s) noexcept {
  M& keeper = *s.ms.timekeeper();
  leave_global_queue(s, keeper);  // it looks at its residents, too
  s.ms.rouse_timekeeper();
  s.watch.look_again();
  keeper.wake_note.wake();
}

// Steps 1 and 2 of the right column of the table of timers (timekeeper.h), repeated as long as an earlier timer turns
// up.
std::int64_t publish_watch(Sched& s, std::int64_t until_ns) noexcept {
  for (;;) {
    s.watch.watch_until(until_ns);
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

void make_sysmon_watch(Sched& s, std::int64_t first_ns) noexcept { s.sysmon.watch_timer(first_ns); }

std::int64_t earliest_unwatched_timer(Sched& s) noexcept {
  if (!s.idle.any_idle()) return never_ns;
  std::int64_t const earliest = earliest_timer(s);
  return s.watch.covers(earliest) ? never_ns : earliest;
}

bool poll_is_unwatched(Sched const& s) noexcept {
  return s.poll.is_waited_for() && s.poll.sleepers() == 0 && s.idle.any_idle();
}

timekeeper_task take_the_watch(Sched& s, M& m) noexcept {
  s.lock.assert_held();
  bool const watch_check_pending = std::exchange(m.watch_check_pending, false);
  bool const was_roused = s.ms.timekeeper() == &m;
  if (was_roused) static_cast<void>(s.ms.take(m));
  if (s.idle.count() == 0) {  // an M that gives a P up later looks at the timers; until then sysmon does
    if (s.ms.timekeeper() == nullptr) s.watch.end_watch();
    if (was_roused || watch_check_pending) make_sysmon_watch(s, earliest_timer(s));
    return {};
  }
  bool const polls = s.poll.is_waited_for();
  if (s.ms.timekeeper() != nullptr) {
    if (s.ms.timekeeper_is_roused()) return {};
    if (s.watch.covers_locked(earliest_timer(s)) && (s.watch.polls() || !polls)) return {};
    if (s.watch.polls()) {
      rouse(s);
      return {};
    }
    // The earlier timekeeper goes on sleeping as an idle M. No thread relies on its time limit any more.
    s.ms.rest(*s.ms.timekeeper(), os::monotonic_ns());
  }
  timekeeper_task const taken{publish_watch(s, earliest_timer(s)), polls};
  if (taken) {
    s.ms.make_timekeeper(m);
    s.watch.sleep_in_poller(polls);
  }
  return taken;
}

void rouse_timekeeper_without_task(Sched& s) noexcept {
  s.lock.assert_held();
  if (s.ms.timekeeper() != nullptr && !s.ms.timekeeper_is_roused() && earliest_timer(s) == never_ns &&
      !s.poll.is_waited_for()) {
    rouse(s);
  }
}

bool rouse_timekeeper_if_needed(Sched& s) noexcept {
  s.lock.assert_held();
  bool const watches_too_little = !s.ms.timekeeper_is_roused() && (!s.watch.covers_locked(earliest_timer(s)) ||
                                                                   (!s.watch.polls() && s.poll.is_waited_for()));
  if (watches_too_little) rouse(s);
  return watches_too_little;
}

}  // namespace thrum::rt
