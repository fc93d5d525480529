#include "sched/schedule.h"

#include "base/check.h"
#include "sched/goroutine.h"
#include "sched/suspend.h"

namespace thrum::rt {
namespace {

found take_handed(M& m) noexcept {
  found const handed{m.handed, m.handed_inherits};
  m.handed = nullptr;
  return handed;
}

// No stack can be had for g now: it waits until one comes free. If no goroutine has one, none ever will.
void wait_for_stack(M& m, G& g) noexcept {
  Sched& s = m.sched;
  auto const stats = s.stacks.stats();
  if (stats.in_use == 0 && stats.free == 0) {
    fatal("goroutine %llu cannot start: no memory for a stack of %zu bytes, and no goroutine has one to give back",
          static_cast<unsigned long long>(g.id), g.task.stack_bytes == 0 ? s.options.stack_size : g.task.stack_bytes);
  }
  os::lock_guard const guard(s.lock);
  g.status.store(g_status::waiting, relaxed);  // it may have been claimed, and so be running on paper
  g.waits_for = wait_reason::stack_memory;
  s.waiting_for_stack.push_back(g);
  s.stack_waiters.store(s.waiting_for_stack.size(), relaxed);
}

}  // namespace

void execute(M& m, found next) noexcept {
  G& g = *next.g;
  if (g.on == nullptr && !bind_stack(*m.p, g)) {
    wait_for_stack(m, g);
    return;
  }
  begin_run(m, next);
  switch_context(m.g0, g.saved, departure::comes_back);
  arrive();
}

void schedule_until_end(M& m) noexcept {
  enter(m);
  for (;;) {
    found next = take_handed(m);
    if (next.g == nullptr) next = find_runnable(m);
    if (next.g == nullptr) return;
    execute(m, next);
  }
}

}  // namespace thrum::rt
