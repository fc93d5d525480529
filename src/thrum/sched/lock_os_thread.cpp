#include "sched/lock_os_thread.h"

#include "core/trace.h"
#include "sched/home.h"
#include "sched/make_way.h"
#include "sched/runnable.h"
#include "sched/suspend.h"
#include "sched/thread_lock.h"

namespace thrum::rt {

M& lock_to_thread(M& m) noexcept {
  // The goroutine may hold a lock that belongs to this thread. So it stays, and is at home here for one more reason.
  if (m.current->is_at_home) {
    count_lock(*m.current);
    return m;
  }
  M& elsewhere = m.id == 0 && !m.current->is_main ? leave_m_by_global_queue(m) : m;
  M& here = elsewhere.residents.any() ? arrive_announced(elsewhere, *elsewhere.current) : elsewhere;
  lock_where_it_is(here);
  count_lock(*here.current);
  return here;
}

void unlock_from_thread(M& m) noexcept {
  G& g = *m.current;
  if (g.lock_depth == 0) return;  // what else keeps the goroutine here (G::home_depth) is not undone by this call
  --g.lock_depth;
  end_stay_without_reason(m);
}

M& leave_m_by_global_queue(M& m) noexcept {
  m.current->transition(g_status::running, g_status::runnable);
  trace::yields(m, *m.current, trace::yield_detail::made_way);
  return suspend(m, commit_holds::nothing, commit_to_global, nullptr);
}

}  // namespace thrum::rt
