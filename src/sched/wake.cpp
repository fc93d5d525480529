#include "sched/wake.h"

#include "core/current.h"
#include "os/chaos.h"
#include "os/futex.h"
#include "sched/threads.h"
#include "sched/timekeeper.h"

namespace thrum::rt {

void put_idle_p(Sched& s, P& p) noexcept {
  s.lock.assert_held();
  p.transition(p_status::running, p_status::idle);
  p.m = nullptr;
  p.pace.forget_batch();
  p.idle_link = s.idle_p_list;
  s.idle_p_list = &p;
  s.idle_procs.fetch_add(1, seq_cst);  // step 1 of the right column in wake.h
}

P* take_idle_p(Sched& s) noexcept {
  s.lock.assert_held();
  P* const p = s.idle_p_list;
  if (p == nullptr) return nullptr;
  s.idle_p_list = p->idle_link;
  p->idle_link = nullptr;
  s.idle_procs.fetch_sub(1, seq_cst);
  p->transition(p_status::idle, p_status::running);
  if (s.sysmon_in_deep_sleep) {
    s.sysmon_in_deep_sleep = false;
    ring_sysmon(s);
  }
  return p;
}

void ring_sysmon(Sched& s) noexcept {
  s.sysmon_bell.fetch_add(1U << 16U, release);  // pairs with sysmon's load of the bell
  os::futex_wake(s.sysmon_bell, 1);
}

void nudge_sysmon(Sched& s) noexcept {
  s.sysmon_bell.fetch_add(1U, release);  // pairs with sysmon's load of the bell
  os::futex_wake(s.sysmon_bell, 1);
}

void have_put_off_watched(Sched& s) noexcept {
  if (s.put_off_is_unwatched.exchange(false, seq_cst)) nudge_sysmon(s);  // otherwise another M nudges it
}

bool wake_one(Sched& s) noexcept {
  std::int32_t none = 0;
  if (!s.spinning.compare_exchange(none, 1, seq_cst, relaxed)) return false;
  os::chaos_point("wake.counted");
  s.lock.acquire();
  P* const p = may_start_m_locked(s) ? take_idle_p(s) : nullptr;
  if (p == nullptr) {
    s.spinning.fetch_sub(1, seq_cst);  // under the lock: see wake.h
    bool const all_are_busy = s.idle_p_list == nullptr;
    s.lock.release();
    if (all_are_busy) have_sysmon_watch(s, earliest_timer(s));  // a thread may have relied on this M for a timer
    return false;
  }
  if (M* const me = current_m(); me != nullptr && me->p != nullptr) count(me->p->counters.wakes);
  start_m_locked(s, *p, start_as::spinning);
  return true;
}

void start_idle_p(Sched& s) noexcept {
  s.lock.acquire();
  P* const p = may_start_m_locked(s) ? take_idle_p(s) : nullptr;
  if (p == nullptr) {
    s.lock.release();
    return;
  }
  start_m_locked(s, *p, start_as::working);
}

bool work_anywhere(Sched& s) noexcept {
  if (s.global_size.load(seq_cst) != 0) return true;
  for (auto const& p : s.procs) {
    if (!p->queue.looks_empty()) return true;
  }
  return false;
}

void wake_if_work_is_left(Sched& s) noexcept {
  store_load_fence();
  if (work_anywhere(s)) wake_if_idle(s);
}

}  // namespace thrum::rt
