#include "boot/gauges.h"

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

gauges count_goroutines(Sched& s, M const* caller) noexcept {
  gauges result;
  auto walk = s.records.begin_walk();
  auto const add_it = [&](G const& g) {
    add(result, g.status.load(relaxed));
    return true;
  };
  while (s.records.walk_on(walk, record_pool::visits_at_once, add_it)) {
  }
  for (P* const p : s.procs) {
    M const* const on = m_seen_on(*p);
    if (on == nullptr || on == caller || hint_of(on->current) == nullptr || !sleeps_in_kernel(*on)) continue;
    if (result.running > 0) --result.running;
    ++result.in_calls;
  }
  return result;
}

}  // namespace thrum::rt
