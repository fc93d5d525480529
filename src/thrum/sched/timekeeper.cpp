#include "sched/timekeeper.h"

#include "base/ablation.h"
#include "os/clock.h"
#include "sched/notify.h"
#include "sched/poll.h"
#include "sched/resting_ms.h"
#include "sched/wake.h"
#include "sched/watch.h"

#include <algorithm>
#include <utility>

namespace thrum::rt {

void check_watch(M& m) noexcept {
  Sched& s = m.sched;
  if (!s.idle.any_idle()) {
    if (s.procs.size() != 1) make_sysmon_watch(s, earliest_timer(s));  // as in timer_was_added
    return;
  }
  std::int64_t const earliest_ns = earliest_timer(s);
  if (s.watch.covers(earliest_ns)) return;
  if (m.p != nullptr && is_far_off(s, earliest_ns, os::monotonic_ns())) {
    count(m.p->counters.put_off);
    return;
  }
  static_cast<void>(wake_a_watcher(s));
}

void timer_was_added(M& m, added_as place) noexcept {
  // It is watched with the timer before it. Or there is one P, which looks at its timers when it runs out of work, and
  // at the latest when sysmon finds them due: telling sysmon of each would cost more than the work between two sleeps.
  if (place == added_as::later || m.sched.procs.size() == 1) return;
  if (m.current == nullptr && applies(heuristic::pending_watch)) {
    m.watch_check_pending = true;
  } else if (m.sched.idle.any_idle()) {
    static_cast<void>(ensure_timers_are_watched(m.sched));
  } else {
    make_sysmon_watch(m.sched, m.p->timers.next_when());
  }
}

void timer_was_left(M& m, added_as place) noexcept {
  bool const paces =
      place != added_as::later && m.sched.procs.size() != 1 && m.current != nullptr && m.current_was_handed;
  if (!paces || !applies(heuristic::put_off_timers) || !may_put_off_waking(*m.p)) {
    timer_was_added(m, place);
    return;
  }
  m.watch_check_pending = true;
  m.p->runs_to_look.store(0, relaxed);  // what runs after m.current comes by way of g0, where the check is made
  ensure_put_off_is_watched(*m.p);
}

namespace {

// The timekeeper's sleep has ended by itself. Queues the goroutines that m found in the poller. True: m has a P. Called
// with sched.lock held; releases it.
bool end_watch(M& m, bool time_has_come, g_list& polled) noexcept {
  Sched& s = m.sched;
  leave_global_queue(s, m);  // with or without a P, m looks at its residents
  static_cast<void>(relieve_timekeeper(s));
  P* const p = s.end.has_begun() ? nullptr : s.idle.take();
  s.lock.release();
  if (p != nullptr) {
    acquire_p(m, *p);
    m.timers_are_due = time_has_come;
    m.watch_check_pending = true;
  } else {
    make_sysmon_watch(s, earliest_timer(s));  // every P is busy, and sysmon, which relied on m, may sleep
  }
  run_polled(m, polled);
  return p != nullptr;
}

}  // namespace

watch_ends keep_time(M& m, timekeeper_task task) noexcept {
  Sched& s = m.sched;
  g_list polled;
  poll_sleep end{.woken = false, .time_has_come = true};
  if (task.polls) {
    end = sleep_in_poll(m, task.until_ns, polled);
  } else {
    end.woken = m.wake_note.sleep_until(task.until_ns);
  }
  m.busy_since_ns = 0;
  if (!end.woken) {
    s.lock.acquire();
    if (s.ms.timekeeper() == &m && !s.ms.timekeeper_is_roused()) {
      return end_watch(m, end.time_has_come, polled) ? watch_ends::with_p : watch_ends::check_state;
    }
    s.lock.release();
  }
  run_polled(m, polled);
  // Another thread has changed m's state under the lock, so it has woken m's note, or will when m gets a P or has to
  // end. m must consume that wake, because a note is woken once per clear.
  if (!end.woken) m.wake_note.sleep();
  m.wake_note.clear();
  return watch_ends::check_state;
}

}  // namespace thrum::rt
