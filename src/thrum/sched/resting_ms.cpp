#include "sched/resting_ms.h"

#include "base/check.h"
#include "os/chaos.h"

#include <cerrno>

namespace thrum::rt {

bool relieve_timekeeper(Sched& s) noexcept {
  s.lock.assert_held();
  s.watch.end_watch();
  return s.ms.take(*s.ms.timekeeper());
}

bool take_from_rest_locked(M& m) noexcept {
  Sched& s = m.sched;
  s.lock.assert_held();
  leave_global_queue(s, m);
  return m.status == m_status::idle ? s.ms.take(m) : relieve_timekeeper(s);
}

// An M that wants a P for its residents comes first because it has work. If it gets this P, no other M need pass a P on
// to it.
resting_m take_resting_m_locked(Sched& s) noexcept {
  s.lock.assert_held();
  M* m = s.global_queue.first_for_residents();
  if (m == nullptr) m = s.ms.first_idle();
  if (m == nullptr) m = s.ms.timekeeper();
  return m != nullptr ? resting_m{m, take_from_rest_locked(*m)} : resting_m{};
}

bool may_have_starting_m_locked(Sched const& s) noexcept {
  return s.ms.count(m_status::starting_without_p) != 0 || may_make_thread_locked(s);
}

bool thread_is_available_locked(Sched const& s) noexcept {
  return s.ms.without_work() != 0 || may_have_starting_m_locked(s) || s.global_queue.has_ms();
}

bool may_start_m_locked(Sched const& s) noexcept {
  std::int32_t const preempted = s.ms.paused() + s.unannounced.without_p();
  bool const others_will_come = preempted != 0 && preempted >= s.idle.count();
  return !s.end.has_begun() && (thread_is_available_locked(s) || !others_will_come);
}

// Takes an M whose thread is being made without a P (the P was taken back, or it is a spare thread), else a new M.
M& starting_m_locked(Sched& s) noexcept {
  if (M* const m = s.ms.take_starting_without_p()) return *m;
  if (!may_make_thread_locked(s)) {
    fatal("program exceeds %d-thread limit (options::max_threads, set_max_threads)", s.pauses.threads_max());
  }
  M* const m = s.ms.start(s, m_status::starting);
  if (m == nullptr) {
    fatal("failed to create new OS thread (have %d already; errno=%d): no memory", s.ms.total(), ENOMEM);
  }
  s.ms.order(*m);
  return *m;
}

bool may_make_thread_locked(Sched const& s) noexcept { return s.pauses.may_make_threads(1); }

void give_p_to_resting(Sched& s, M& m, P& p) noexcept {
  bool const is_to_be_woken = take_from_rest_locked(m);
  s.ms.promise(m, p);
  s.lock.release();
  os::chaos_point("resting_ms.promised");
  if (is_to_be_woken) m.wake_note.wake();
}

namespace {

bool is_one_short_locked(Sched const& s) noexcept {
  return s.ms.idle_without_residents() == nullptr && s.ms.count(m_status::starting_without_p) == 0 &&
         !s.end.has_begun();
}

}  // namespace

bool order_spare_locked(Sched& s, std::int32_t more) noexcept {
  bool const may_be_more = s.pauses.may_be(more) && s.pauses.may_make_threads(more);
  if (s.pauses.spare_is_ordered() || !is_one_short_locked(s) || !may_be_more) return false;
  s.pauses.order_spare();
  return true;
}

void ensure_spare_thread(Sched& s) noexcept {
  s.lock.acquire();
  // 2: the last thread within the limit is kept for an M that is needed at once
  bool const is_ordered = order_spare_locked(s, 2);
  s.lock.release();
  if (is_ordered) s.thread_maker.notify();
}

M* start_spare_locked(Sched& s) noexcept {
  s.lock.assert_held();
  bool const is_wanted = is_one_short_locked(s) && may_make_thread_locked(s);
  return is_wanted ? s.ms.start(s, m_status::starting_without_p) : nullptr;
}

}  // namespace thrum::rt
