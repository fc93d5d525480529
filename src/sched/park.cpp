#include "sched/park.h"

#include "sched/queues.h"
#include "sched/schedule.h"
#include "sched/wake.h"

namespace thrum::rt {
namespace {

// A goroutine that yielded is off its stack: it can be queued. Its P had something else to run and still has as much, but
// while the goroutine was in no queue a searching M may have found nothing and gone to sleep: so this is a publication
// like any other.
void commit_yield(M& m, G& left, void*) noexcept {
  P& p = *m.p;
  put_tail(p, entry::plain(&left));
  if (m.sched.options.procs == 1) return;
  store_load_fence();
  wake_if_idle(m.sched);
}

}  // namespace

M& park(M& m, wait_reason reason, commit_step commit, void* argument, commit_holds holds) noexcept {
  G& g = *m.current;
  g.waits_for = reason;
  g.transition(g_status::running, g_status::waiting);
  count(m.p->counters.parks);
  return suspend(m, commit, argument, holds);
}

void ready(M& m, G& g) noexcept {
  g.transition(g_status::waiting, g_status::runnable);
  count(m.p->counters.readies);
  put_next(*m.p, entry::plain(&g));
  wake_if_idle(m.sched);
}

M& yield(M& m) noexcept {
  P& p = *m.p;
  count(p.counters.yields);
  bool const alone = p.queue.is_empty_to_owner();
  bool const global_turn = p.ticks_to_global == 0 && m.sched.global_size.load(relaxed) != 0;
  if (alone && !global_turn && p.attention.load(relaxed) == 0) {
    p.tick();
    return m;
  }
  m.current->transition(g_status::running, g_status::runnable);
  return suspend(m, commit_yield, nullptr, commit_holds::nothing);
}

void main_goroutine_ended(M& m, G& main) noexcept {
  Sched& s = m.sched;
  main.is_main = false;  // the record will be used again
  if (s.main_completed) {
    s.main_ended.wake();
  } else {
    os::lock_guard const guard(s.lock);
    s.main_exited = true;
  }
}

}  // namespace thrum::rt
