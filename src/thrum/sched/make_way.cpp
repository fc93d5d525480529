#include "sched/make_way.h"

#include "core/current.h"
#include "core/trace.h"
#include "os/chaos.h"
#include "sched/requests.h"
#include "sched/resting_ms.h"
#include "sched/runnable.h"
#include "sched/switch.h"

namespace thrum::rt {

namespace {

using move_target = home_move::move_target;

bool is_as_wanted(M const& m, move_target which) noexcept {
  return m.residents.any() == (which == move_target::m_with_residents);
}

M* find_resting_locked(Sched const& s, move_target which) noexcept {
  M* const idle = which == move_target::m_with_residents ? s.ms.idle_with_residents() : s.ms.idle_without_residents();
  if (idle != nullptr) return idle;
  M* const keeper = s.ms.timekeeper();
  return keeper != nullptr && is_as_wanted(*keeper, which) ? keeper : nullptr;
}

// `left` waits for its turn in the global queue, and tries to move when it comes. Called with sched.lock held; releases
// it. An M is started on an idle P for `left`, because m keeps its P, and what it finds next may run for long.
void try_later(M& m, G& left, bool orders_spare) noexcept {
  Sched& s = m.sched;
  if (orders_spare) s.pauses.order_spare();
  global_publication(s, global_publication::adopt_lock()).put(left);
  if (orders_spare) s.thread_maker.notify();
}

}  // namespace

void commit_move(M& m, G& left, void* argument) noexcept {
  auto& request = *static_cast<home_move*>(argument);
  Sched& s = m.sched;
  P& p = *m.p;
  s.lock.acquire();
  if (s.end.has_begun() || is_to_stop(p)) return try_later(m, left, false);
  bool const stands_in = request.which == move_target::m_without_residents;
  M* const rested = find_resting_locked(s, request.which);
  if (rested == nullptr && (!stands_in || !may_have_starting_m_locked(s))) {
    request.no_thread = true;
    s.lock.release();
    m_pool::bring(m, left);
    return;
  }
  // A thread is made only after the goroutines that may be paused while they hold a lock of the C library have gone on:
  // see m_with_first_turn_locked. A spare thread takes no P from them.
  if (rested == nullptr && s.ms.count(m_status::paused_in_libc) != 0) return try_later(m, left, true);
  bool const is_to_be_woken = rested != nullptr && take_from_rest_locked(*rested);
  M& next = rested != nullptr ? *rested : starting_m_locked(s);
  if (rested == nullptr) run_requested_function(p);  // it may take long until its thread exists
  // From here on the goroutine may run, and its frame, which contains `request`, may be gone.
  release_p(m).m = nullptr;
  s.ms.promise(next, p, left, stands_in);
  s.lock.release();
  os::chaos_point("make_way.moved");
  if (rested == nullptr) {
    s.thread_maker.notify();
  } else if (is_to_be_woken) {
    next.wake_note.wake();
  }
}

namespace {

M& move_on(M& m, home_move& request) noexcept {
  m.current->transition(g_status::running, g_status::runnable);
  trace::yields(m, *m.current, trace::yield_detail::made_way);
  return suspend_to_g0(m, commit_move, &request);
}

bool m_with_residents_rests(Sched& s) noexcept {
  os::lock_guard const guard(s.lock);
  return find_resting_locked(s, move_target::m_with_residents) != nullptr;
}

}  // namespace

M& make_way(M& m) noexcept {
  M* here = &m;
  // also a goroutine that was locked here at the limit of threads, because no other M could run it
  if (here->current->keeps_its_m()) return m;
  for (home_move request{move_target::m_without_residents}; here->residents.any() && !request.no_thread;)
    here = &move_on(*here, request);
  return *here;
}

M& go_back(M& m) noexcept {
  G const& g = *m.current;
  if (g.keeps_its_m() || g.blocking_depth != 0) return m;
  m_pool::end_stand_in(m);
  if (!m_with_residents_rests(m.sched)) return m;
  home_move request{move_target::m_with_residents};
  return move_on(m, request);
}

void stand_back(M& m) noexcept {
  Sched& s = m.sched;
  m_pool::end_stand_in(m);
  s.lock.acquire();
  M* const rested =
      s.end.has_begun() || is_to_stop(*m.p) ? nullptr : find_resting_locked(s, move_target::m_with_residents);
  if (rested == nullptr) {
    s.lock.release();
    return;
  }
  P& p = release_p(m);
  p.m = nullptr;
  give_p_to_resting(s, *rested, p);
}

M& arrive_announced(M& m, G& g) noexcept {
  M& here = m.residents.any() ? make_way(m) : m;
  stay_announced(here, g);
  return here;
}

}  // namespace thrum::rt
