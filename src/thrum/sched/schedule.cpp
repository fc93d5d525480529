#include "sched/schedule.h"

#include "base/check.h"
#include "base/heuristics.h"
#include "os/clock.h"
#include "sched/find_runnable.h"
#include "sched/make_way.h"
#include "sched/own_thread.h"
#include "sched/pick.h"
#include "sched/stack_wait.h"
#include "sched/switch.h"
#include "sched/threads.h"
#include "sched/timekeeper.h"
#include "sched/wake.h"

namespace thrum::rt {
namespace {

// g gets its turn on m. If g is timed, notes how long it has waited. Now and then marks g so that its next turn is
// timed.
void end_ready_time(M& m, G& g) noexcept {
  P& p = *m.p;
  if (g.detour.is_timed != 0) {
    g.detour.is_timed = 0;
    p.ready_to_run.add(os::monotonic_ns() - g.runnable_since_ns);
  }
  if (p.counters.switches_via_g0.load(relaxed) % one_in::switches_by_g0 == one_in::switches_by_g0 - 1)
    g.time_next_turn();
}

// The goroutine that left has changed the thread's signal mask, but it must be possible to preempt the next goroutine.
[[gnu::noinline]] void take_own_mask_back(M& m) noexcept {
  m.sched.ms_signals.apply();
  m.mask_was_changed = false;
  if (m.suspend_by == suspend_mode::through_g0) m.suspend_by = m.usual_suspend_mode();
}

search_result take_handed(M& m) noexcept {
  search_result const handed{m.handed, m.handed_inherits};
  m.handed = nullptr;
  return handed;
}

}  // namespace

void execute(M& m, search_result next) noexcept {
  G& g = *next.g;
  if (g.on == nullptr && !bind_stack(*m.p, g)) {
    wait_for_stack(m, g);
    return;
  }
  g.await_scan();
  begin_run(m, next, chosen_by::search);
  end_ready_time(m, g);
  switch_context(m.g0, g.saved, departure::comes_back);
  arrive();
}

void schedule_until_end(M& m) noexcept {
  enter_runtime(m);
  for (;;) {
    if (m.mask_was_changed) [[unlikely]]
      take_own_mask_back(m);
    if (m.ends_with_goroutine) return give_up_own_thread(m);
    if (m.stands_in && m.p != nullptr && m.brought == nullptr) [[unlikely]]
      stand_back(m);
    if (m.p == nullptr && !rest_until_p(m)) return;  // its P went with a system call, or to another thread
    search_result next = take_handed(m);
    if (!next) next = find_runnable(m);
    if (!next) return;
    do_pending_watch_check(m);
    THRUM_DCHECK(next.wants_p != &m);
    // The M that gets m's P: an M of the global queue, or the M of a locked goroutine that stood in a run queue.
    // nullptr or m itself: the goroutine runs here.
    M* const its = next.wants_p != nullptr ? next.wants_p : next.g->only_m;
    if (its == nullptr || its == &m) {
      execute(m, next);
    } else {
      give_p(*its, release_p(m));
    }
  }
}

}  // namespace thrum::rt
