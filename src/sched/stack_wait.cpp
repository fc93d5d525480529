#include "sched/stack_wait.h"

#include "sched/queues.h"
#include "sched/suspend.h"
#include "sched/wake.h"

namespace thrum::rt {

void start_those_who_wait_for_stacks(Sched& s) noexcept {
  {
    os::lock_guard const guard(s.lock);
    for (std::uint32_t left = s.waiting_for_stack.size(); left > 0; --left) {
      G& waiting = *s.waiting_for_stack.pop_front();
      if (stack* const own = s.stacks.allocate(s.stack_size_of(waiting))) {
        bind(waiting, *own);
        waiting.transition(g_status::waiting, g_status::runnable);
        put_global_locked(s, entry::plain(&waiting));
      } else {
        s.waiting_for_stack.push_back(waiting);
      }
    }
    s.stack_waiters.store(s.waiting_for_stack.size(), relaxed);  // a hint; the list is under the lock
  }
  store_load_fence();
  wake_if_idle(s);
}

void wait_for_stack(M& m, G& g) noexcept {
  Sched& s = m.sched;
  {
    os::lock_guard const guard(s.lock);
    g.status.store(g_status::waiting, relaxed);  // it may have been claimed, and so be running on paper
    g.waits_for = wait_reason::stack_memory;
    s.waiting_for_stack.push_back(g);
    s.stack_waiters.store(s.waiting_for_stack.size(), relaxed);
    // Whoever frees a stack from now on sees the count or, at its next safe point, the request; an idle P sees neither.
    for (auto const& p : s.procs) p->attention.fetch_or(attend::give_up_stacks, release);
    for (P* p = s.idle_p_list; p != nullptr; p = p->idle_link) {
      p->attention.fetch_and(~attend::give_up_stacks, relaxed);
      p->stacks.flush(s.stacks);
    }
  }
  start_those_who_wait_for_stacks(s);
}

void put_stack(P& p, stack* freed) noexcept {
  freed->goroutine_id = 0;
  if (p.sched.stack_waiters.load(relaxed) == 0) {
    p.stacks.put(p.sched.stacks, freed);
    return;
  }
  p.sched.stacks.release(freed);
  start_those_who_wait_for_stacks(p.sched);
}

void give_up_cached_stacks(P& p) noexcept {
  p.attention.fetch_and(~attend::give_up_stacks, acquire);  // pairs with wait_for_stack
  p.stacks.flush(p.sched.stacks);
  start_those_who_wait_for_stacks(p.sched);
}

}  // namespace thrum::rt
