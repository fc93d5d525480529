#include "sched/watch.h"

#include "os/clock.h"
#include "sched/resting_ms.h"

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
  leave_global_queue(s, keeper);  // it looks at its residents, too
  s.ms.rouse_timekeeper();
  s.timekeeper_until_ns.store(looking, seq_cst);
  keeper.wake_note.wake();
}

bool io_is_waited_for(Sched const& s) noexcept { return s.poll_waiters.load(seq_cst) != 0; }

// Steps 1 and 2 of the right column of the table of timers (timekeeper.h), repeated as long as an earlier timer turns
// up.
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

void make_sysmon_watch(Sched& s, std::int64_t first_ns) noexcept { s.sysmon.watch_timer(first_ns); }

std::int64_t earliest_unwatched_timer(Sched& s) noexcept {
  if (!s.idle.any_idle()) return never_ns;
  std::int64_t const earliest = earliest_timer(s);
  return s.timekeeper_until_ns.load(seq_cst) <= earliest ? never_ns : earliest;
}

bool poll_is_unwatched(Sched const& s) noexcept {
  return io_is_waited_for(s) && s.in_poll.load(seq_cst) == 0 && s.idle.any_idle();
}

timekeeper_task take_the_watch(Sched& s, M& m) noexcept {
  s.lock.assert_held();
  bool const watch_check_pending = std::exchange(m.watch_check_pending, false);
  bool const was_roused = s.ms.timekeeper() == &m;
  if (was_roused) static_cast<void>(s.ms.take(m));
  if (s.idle.count() == 0) {  // an M that gives a P up later looks at the timers; until then sysmon does
    if (s.ms.timekeeper() == nullptr) s.timekeeper_until_ns.store(never_ns, seq_cst);
    if (was_roused || watch_check_pending) make_sysmon_watch(s, earliest_timer(s));
    return {};
  }
  bool const polls = io_is_waited_for(s);
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
  timekeeper_task const taken{publish_watch(s, earliest_timer(s)), polls};
  if (taken) {
    s.ms.make_timekeeper(m);
    s.timekeeper_polls = polls;
  }
  return taken;
}

void rouse_timekeeper_without_task(Sched& s) noexcept {
  s.lock.assert_held();
  if (s.ms.timekeeper() != nullptr && !s.ms.timekeeper_is_roused() && earliest_timer(s) == never_ns &&
      !io_is_waited_for(s)) {
    rouse(s);
  }
}

bool rouse_timekeeper_if_needed(Sched& s) noexcept {
  s.lock.assert_held();
  bool const does_not_do = !s.ms.timekeeper_is_roused() && (s.timekeeper_until_ns.load(relaxed) > earliest_timer(s) ||
                                                            (!s.timekeeper_polls && io_is_waited_for(s)));
  if (does_not_do) rouse(s);
  return does_not_do;
}

}  // namespace thrum::rt
