#include "sched/home.h"

#include "base/check.h"
#include "core/current.h"
#include "core/trace.h"
#include "os/chaos.h"
#include "sched/resting_ms.h"
#include "sched/thread_lock.h"

namespace thrum::rt {

namespace {

void begin_home(M& m, G& g) noexcept {
  g.is_at_home = true;
  g.only_m = &m;
  m.residents.add();
}

// g, the current goroutine of m, is at home no more, because its last reason has ended or the goroutine has ended.
void end_home(M& m, G& g) noexcept {
  THRUM_CHECK(g.is_at_home && g.only_m == &m);
  g.is_at_home = false;
  g.home_depth = 0;
  g.lock_depth = 0;
  g.only_m = nullptr;
  m.residents.remove();
}

}  // namespace

void stay_home(M& m) noexcept {
  G& g = *m.current;
  if (!g.keeps_its_m()) {
    if (m.id == 0 || g.blocking_depth != 0) {
      lock_where_it_is(m);
    } else {
      begin_home(m, g);
    }
  }
  THRUM_CHECK(g.only_m == &m);
  if (g.home_depth != home_depth_max) ++g.home_depth;
}

void leave_home(M& m) noexcept {
  G& g = *m.current;
  if (g.home_depth == home_depth_max) return;
  THRUM_CHECK(g.home_depth != 0);
  --g.home_depth;
  end_stay_without_reason(m);
}

void end_stay_without_reason(M& m) noexcept {
  G& g = *m.current;
  if (g.home_depth != 0 || g.lock_depth != 0) return;
  if (g.is_at_home) {
    end_home(m, g);
  } else if (!m.is_foreign) {
    unlock_where_it_is(m, g);
  }
}

void stay_for_good(M& m) noexcept {
  G& g = *m.current;
  if (g.is_at_home) end_home(m, g);
  if (!g.detour.is_locked) lock_where_it_is(m);
  g.home_depth = home_depth_max;
}

void end_lock(M& m, G& g) noexcept {
  if (g.is_at_home) end_home(m, g);
  if (!g.detour.is_locked) return;
  unlock_where_it_is(m, g);
  if (m.id == 0 || m.residents.any()) return;
  m.ends_with_goroutine = true;
  m.suspend_by = suspend_mode::through_g0;
}

at_home::at_home() noexcept {
  M* const m = current_m();
  if (m == nullptr || m->current == nullptr || m->is_foreign) return;
  enter_runtime(*m);
  stay_home(*m);
  leave_runtime(*m);
  is_at_home_ = true;
}

at_home::~at_home() {
  if (!is_at_home_) return;
  M& m = *current_m();
  enter_runtime(m);
  leave_home(m);
  leave_runtime(m);
}

namespace {

// m wants a P for its residents: it stands in the global queue until another M gives it one. m rests, or is about to
// under the same lock.
void queue_for_residents_locked(M& m) noexcept {
  m.sched.global_queue.queue_for_residents(m);
  trace::global_queue_changed(m.sched);
}

// `home` has a resident to run. Called with sched.lock held; releases it.
void ensure_home_runs(Sched& s, M& home) noexcept {
  // an M that was roused comes to takes_p_for_residents by itself
  if (s.end.has_begun() || home.wants_p || !home.rests() || home.status == m_status::roused) {
    s.lock.release();
    return;
  }
  P* const p = s.idle.take();
  if (p == nullptr) {
    queue_for_residents_locked(home);
    s.lock.release();
    return;
  }
  give_p_to_resting(s, home, *p);
}

}  // namespace

void send_home(push_key key, M* by, G& g) noexcept {
  M& home = *g.only_m;
  if (by == &home) {  // that M looks at its queue before it rests
    home.residents.queue(key, g);
    return;
  }
  Sched& s = home.sched;
  s.lock.acquire();
  home.residents.post(key, g);
  ensure_home_runs(s, home);
}

search_result take_at_home(M& m) noexcept {
  if (!m.residents.any_runnable()) return {};
  return {m.residents.take(m.sched.lock, !m.p->queue.is_empty_to_owner()), false};
}

bool takes_p_for_residents(Sched& s, M& m) noexcept {
  s.lock.assert_held();
  if (!m.residents.any_runnable()) [[likely]]
    return false;
  if (P* const p = s.idle.take()) {
    if (s.ms.timekeeper() == &m) static_cast<void>(relieve_timekeeper(s));  // it had been woken to look again
    acquire_p(m, *p);
    m.watch_check_pending = true;
    return true;
  }
  queue_for_residents_locked(m);
  return false;
}

}  // namespace thrum::rt
