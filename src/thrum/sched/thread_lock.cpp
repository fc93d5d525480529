#include "sched/thread_lock.h"

#include "base/check.h"

namespace thrum::rt {

void count_lock(G& g) noexcept {
  if (++g.lock_depth == 0)
    fatal("goroutine %llu: lock_os_thread was called 65,536 times without unlock_os_thread",
          static_cast<unsigned long long>(g.id));
}

void lock_where_it_is(M& m) noexcept {
  G& g = *m.current;
  THRUM_CHECK(!g.is_at_home);  // its thread may be home to others: see sched/home.h
  if (g.detour.is_locked) return;
  g.detour.is_locked = true;
  g.only_m = &m;
  g.saved.pc = nullptr;  // from here on it is set only while other threads may read the context
  m.suspend_by = suspend_mode::in_place;
}

void unlock_where_it_is(M& m, G& g) noexcept {
  g.lock_depth = 0;
  g.home_depth = 0;
  g.detour.is_locked = false;
  g.only_m = nullptr;
  m.suspend_by = m.usual_suspend_mode();
}

}  // namespace thrum::rt
