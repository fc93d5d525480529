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

namespace {

// Whether m has left its goroutine and given its P up, and is on its way to rest_until_p. m's thread wrote both before
// it last had the lock. An M that has just taken an idle P may look the same; it searches, and comes to rest later.
bool is_about_to_rest(M const& m) noexcept {
  bool const has_p = hint_of(m.p) != nullptr || hint_of(m.next_p) != nullptr;
  bool const may_rest = m.id != 0 && !m.is_foreign;  // M0 waits for the end of the run
  return m.status == m_status::awake && may_rest && !has_p && hint_of(m.current) == nullptr;
}

std::int32_t count_about_to_rest_locked(Sched const& s) noexcept {
  std::int32_t found = 0;
  for (M const& m : s.ms.all()) found += is_about_to_rest(m) ? 1 : 0;
  return found;
}

}  // namespace

bool may_start_m_locked(Sched const& s) noexcept {
  if (s.end.has_begun()) return false;
  if (thread_is_available_locked(s)) return true;
  std::int32_t const idle = s.idle.count();
  std::int32_t will_come = s.ms.paused() + s.unannounced.without_p();
  if (will_come == 0 || will_come < idle) will_come += count_about_to_rest_locked(s);
  return will_come == 0 || will_come < idle;
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
