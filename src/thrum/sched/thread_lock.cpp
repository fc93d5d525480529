#include "sched/thread_lock.h"

#include "base/check.h"

namespace thrum::rt {

void undo_all_thread_locks(M& m, G& g) noexcept {
  g.lock_depth = 0;
  g.home_depth = 0;
  g.detour.is_locked = false;
  g.only_m = nullptr;
  m.suspend_by = m.usual_suspend_mode();
}

void lock_once_more(G& g) noexcept {
  if (++g.lock_depth == 0)
    fatal("goroutine %llu: lock_os_thread was called 65,536 times without unlock_os_thread",
          static_cast<unsigned long long>(g.id));
}

void lock_where_it_is(M& m) noexcept {
  G& g = *m.current;
  THRUM_CHECK(!g.is_at_home);  // its thread may be home to others: see sched/home.h
  if (g.lock_depth == 0) {
    g.detour.is_locked = true;
    g.only_m = &m;
    g.saved.pc = nullptr;  // from here on it is set only while other threads may read the context
    m.suspend_by = suspend_mode::in_place;
  }
  lock_once_more(g);
}

void unlock_where_it_is(M& m) noexcept {
  G& g = *m.current;
  if (g.lock_depth > 1) {
    --g.lock_depth;
  } else if (g.detour.is_locked && !m.is_foreign) {
    undo_all_thread_locks(m, g);
  }
}

}  // namespace thrum::rt
