#include "sched/threads.h"

#include "base/check.h"
#include "os/chaos.h"
#include "os/clock.h"
#include "sched/deadlock.h"
#include "sched/home.h"
#include "sched/queues.h"
#include "sched/requests.h"
#include "sched/resting_ms.h"
#include "sched/runnable.h"
#include "sched/stack_wait.h"
#include "sched/timekeeper.h"
#include "sched/wake.h"
#include "sched/watch.h"

namespace thrum::rt {

namespace {

// Called with sched.lock held; releases it. m becomes idle and sleeps until it gets a P or has to end.
void rest_as_idle(M& m) noexcept {
  Sched& s = m.sched;
  s.ms.rest(m, os::monotonic_ns());
  rouse_timekeeper_without_task(s);
  check_deadlock_locked(s);
  s.lock.release();
  os::chaos_point("threads.rests");
  m.wake_note.sleep();
  m.wake_note.clear();
  m.busy_since_ns = 0;
}

}  // namespace

P* take_back_from_starting_locked(M& m) noexcept {
  m.sched.lock.assert_held();
  if (m.status != m_status::starting) return nullptr;
  if (m.spinning) m.sched.idle.end_spin(m);
  P* const taken = m.sched.ms.take_back_promise(m);
  if (G* const waits = m_pool::take_brought(m)) put_while_no_p_is_idle_locked(m.sched, *waits);
  return taken;
}

void hand_off(Sched& s, P& p) noexcept {
  os::chaos_point("threads.hand_off");
  s.lock.acquire();
  hand_off_locked(s, p);
}

void hand_off_locked(Sched& s, P& p) noexcept {
  s.lock.assert_held();
  p.m = nullptr;
  if (stop_if_asked_locked(s, p)) {
    s.lock.release();
    return;
  }
  bool const has_work = !p.queue.looks_empty() || s.global_size.load(relaxed) != 0;
  if (has_work && may_start_m_locked(s)) {
    start_m_locked(s, p, start_as::working);
    static_cast<void>(ensure_all_is_watched(s));
    return;
  }
  // No P is idle and no M searches, so an M on this P searches for work of the other Ps. At the limit of threads p goes
  // idle instead. A thread that publishes work sees that, and the check below finds what was published before.
  bool const may_search = !has_work && s.idle.count() == 0 && s.procs.size() > 1 && !s.end.has_begun();
  if (may_search && thread_is_available_locked(s) && s.idle.try_begin_spin()) {
    start_m_locked(s, p, start_as::spinning);
    return;
  }
  run_requested_function(p);
  if ((p.attention.load(relaxed) & attend::give_up_stacks) != 0) {
    s.lock.release();
    give_up_cached_stacks(p);
    hand_off(s, p);
    return;
  }
  s.idle.put(p);
  if (!work_anywhere(s)) check_deadlock_locked(s);
  rouse_timekeeper_without_task(s);
  s.lock.release();
  start_m_if_work_is_left(s);
  static_cast<void>(ensure_all_is_watched(s));
}

bool rest_until_p(M& m) noexcept {
  m.sched.lock.acquire();
  return rest_until_p_locked(m);
}

bool rest_until_p_locked(M& m) noexcept {
  THRUM_DCHECK(m.p == nullptr && !m.spinning);
  Sched& s = m.sched;
  m_pool::end_stand_in(m);
  for (;; s.lock.acquire()) {
    // m may have been taken while it was the timekeeper
    if (s.end.has_begun() || m.is_to_end() || m.next_p != nullptr) break;
    if (takes_p_for_residents(s, m) || takes_p_left_idle_locked(m)) {
      s.lock.release();
      return true;
    }
    timekeeper_task const task = take_the_watch(s, m);
    if (!task) {
      rest_as_idle(m);
      if (m.is_to_end()) return false;
      acquire_p(m, *m.next_p);
      return true;
    }
    s.lock.release();
    if (keep_time(m, task) == watch_ends::with_p) return true;
  }
  s.lock.release();
  if (m.next_p == nullptr) return false;
  acquire_p(m, *m.next_p);
  m.watch_check_pending = true;  // m was the timekeeper, so it makes sure that another M watches the timers
  return true;
}

void retire_p(M& m) noexcept {
  Sched& s = m.sched;
  P& p = release_p(m);
  os::lock_guard const guard(s.lock);
  run_requested_function(p);
  if (!stop_if_asked_locked(s, p)) s.idle.put(p);
}

}  // namespace thrum::rt
