#include "boot/gauges.h"

#include "core/sched.h"
#include "os/thread_state.h"

namespace thrum::rt {
namespace {

void add(gauges& to, g_status status) noexcept {
  switch (status) {
    case g_status::idle:
    case g_status::dead: break;
    case g_status::unstarted:
    case g_status::runnable: ++to.runnable; break;
    case g_status::running: ++to.running; break;
    case g_status::syscall: ++to.in_calls; break;
    case g_status::waiting:
    case g_status::hosting: ++to.waiting; break;  // a joiner waits for the child that runs on its stack
  }
}

// A goroutine that sleeps in the kernel in a call that was not announced keeps its P until another goroutine wants it.
// So it only looks as if it were running.
bool sleeps_in_kernel(M const& m) noexcept {
  os::thread_watch watch;
  return !m.in_runtime.load(relaxed) && watch.look(hint_of(m.tid)).activity == os::thread_activity::sleeps_in_call;
}

}  // namespace

gauges count_goroutines(M& m) noexcept {
  constexpr int at_once = 1024;  // other threads need the lock to make goroutines
  Sched& s = m.sched;
  gauges result;
  s.free_lock.acquire();
  auto walk = s.g_slab.begin_walk();
  for (int visited = 1;; ++visited) {
    G const* const g = s.g_slab.step(walk);
    if (g == nullptr) break;
    add(result, g->status.load(relaxed));
    if (visited % at_once == 0) {
      s.free_lock.release();
      s.free_lock.acquire();
    }
  }
  s.free_lock.release();
  for (P* const p : s.procs) {
    M const* const on = m_seen_on(*p);
    if (on == nullptr || on == &m || hint_of(on->current) == nullptr || !sleeps_in_kernel(*on)) continue;
    if (result.running > 0) --result.running;
    ++result.in_calls;
  }
  return result;
}

}  // namespace thrum::rt
