#include "sched/wake.h"

#include "core/current.h"
#include "core/trace.h"
#include "os/chaos.h"
#include "sched/queues.h"
#include "sched/requests.h"
#include "sched/resting_ms.h"
#include "sched/watch.h"

namespace thrum::rt {

bool start_spinning_m(Sched& s) noexcept {
  if (!s.idle.try_begin_spin()) return false;
  os::chaos_point("wake.counted");
  trace::pass(s, trace::gate::wake);
  s.lock.acquire();
  P* const p = may_start_m_locked(s) ? s.idle.take() : nullptr;
  if (p == nullptr) {
    s.idle.take_back_spin();
    bool const all_are_busy = s.idle.count() == 0;
    if (!all_are_busy) s.pauses.note_p_left_idle();
    s.lock.release();
    if (all_are_busy) make_sysmon_watch(s, earliest_timer(s));  // a thread may have relied on this M for a timer
    return false;
  }
  if (M* const me = current_m(); me != nullptr && me->p != nullptr) count(me->p->counters.wakes);
  start_m_locked(s, *p, start_as::spinning);
  return true;
}

void start_working_m(Sched& s) noexcept {
  s.lock.acquire();
  P* const p = may_start_m_locked(s) ? s.idle.take() : nullptr;
  if (p == nullptr) {
    if (s.idle.count() != 0) s.pauses.note_p_left_idle();
    s.lock.release();
    return;
  }
  start_m_locked(s, *p, start_as::working);
}

bool takes_p_left_idle_locked(M& m) noexcept {
  Sched& s = m.sched;
  s.lock.assert_held();
  bool const was_left = s.pauses.take_p_left_idle();
  if (!was_left && may_make_thread_locked(s)) [[likely]]
    return false;
  // If an M spins, it finds the work, or comes to the right column itself.
  if (s.idle.count() == 0 || !s.idle.none_spins() || !work_anywhere(s)) return false;
  if (s.ms.timekeeper() == &m) static_cast<void>(relieve_timekeeper(s));  // it had been woken to look again
  acquire_p(m, *s.idle.take());
  s.idle.begin_spin(m);
  return true;
}

void start_m_if_work_is_left(Sched& s) noexcept {
  store_load_fence();
  if (work_anywhere(s)) start_m_if_p_is_idle(s);
}

// --- starting an M ---

namespace {

// Under sched.lock, if no M rests: chooses the thread that sleeps in a goroutine's frames and is to get the next P.
// nullptr: an M whose thread is being made may get it.
//
// Making a thread needs locks of the C library. A goroutine that was paused while it held such a lock must go on, and
// if all Ps went to Ms without a thread it never would. Therefore the M that has waited longest gets the P while any
// goroutine is paused. The place where a goroutine was paused does not tell whether it holds such a lock: the loader
// calls functions of the program with its locks held, and a thread that holds a lock which thread creation needs may
// wait for one of the loader's.
M* m_with_first_turn_locked(Sched& s) noexcept {
  if (s.ms.paused() == 0 && may_have_starting_m_locked(s)) return nullptr;
  return take_oldest_locked(s);
}

// Called with sched.lock held; releases it.
void give_p_before_its_turn(Sched& s, P& p, M& m, start_as how) noexcept {
  if (how == start_as::spinning) s.idle.take_back_spin();
  bool const orders_spare = may_make_thread_locked(s);
  if (orders_spare) s.pauses.order_spare();
  s.lock.release();
  give_p(m, p);
  if (orders_spare) s.thread_maker.notify();
  if (how == start_as::working) return;
  // Other threads may have relied on the M that was to search, for work, for timers and for the poller.
  start_m_if_work_is_left(s);
  static_cast<void>(ensure_all_is_watched(s));
}

}  // namespace

void start_m_locked(Sched& s, P& p, start_as how) noexcept {
  resting_m const rested = take_resting_m_locked(s);
  if (rested.m == nullptr) {
    if (M* const has_thread = m_with_first_turn_locked(s)) {
      give_p_before_its_turn(s, p, *has_thread, how);
      return;
    }
    run_requested_function(p);  // now, because the new M's thread may take long to be made
  }
  M& m = rested.m != nullptr ? *rested.m : starting_m_locked(s);
  s.ms.promise(m, p);
  if (how == start_as::spinning) s.idle.spin_for(m);
  s.lock.release();
  if (rested.m == nullptr) {
    s.thread_maker.notify();
  } else if (rested.is_to_be_woken) {
    m.wake_note.wake();
  }
}

void give_p(M& m, P& p) noexcept {
  run_requested_function(p);  // user code may go on with p, without a safe point first
  p.m = nullptr;
  // The turn in which m was found in the global queue ends here. Otherwise m, if it wants p for its residents, would
  // serve the global queue first and give p to the next such M. The goroutine that resumes also begins a new slice, so
  // an old request to pause does not match schedtick.
  p.tick();
  Sched& s = p.sched;
  {
    os::lock_guard const guard(s.lock);
    if (m.is_to_end()) {
      if (!stop_if_asked_locked(s, p)) s.idle.put(p);
      return;
    }
    s.ms.got_p(m);
    s.ms.promise(m, p);
  }
  os::chaos_point("threads.promised");
  m.wake_note.wake();
}

// --- the watch over timers and the poller ---

bool wake_a_watcher(Sched& s) noexcept {
  s.lock.acquire();
  if (s.ms.timekeeper() == nullptr) {
    s.lock.release();
    store_load_fence();          // before start_spinning_m checks whether an M spins
    return start_spinning_m(s);  // that M will find nothing, and become the timekeeper
  }
  bool const was_roused = rouse_timekeeper_if_needed(s);
  s.lock.release();
  return was_roused;
}

// Does not check once more whether a P is idle. If the last idle P is taken meanwhile, sysmon must be told, and
// start_spinning_m or the timekeeper that is woken does so.
bool ensure_timers_are_watched(Sched& s) noexcept {
  std::int64_t const earliest_ns = earliest_timer(s);
  return !s.watch.covers(earliest_ns) && wake_a_watcher(s);
}

bool ensure_all_is_watched(Sched& s) noexcept {
  if (!s.idle.any_idle()) {
    make_sysmon_watch(s, earliest_timer(s));
    return false;
  }
  return ensure_timers_are_watched(s) || (poll_is_unwatched(s) && wake_a_watcher(s));
}

}  // namespace thrum::rt
