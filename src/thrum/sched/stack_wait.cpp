#include "sched/stack_wait.h"

#include "os/chaos.h"
#include "sched/runnable.h"
#include "sched/switch.h"

#include <cstddef>

namespace thrum::rt {

namespace {

// The goroutine that has waited longest gets the stack and becomes runnable.
void start_first(global_publication& locked, Sched& s, std::size_t size_class, stack& own) noexcept {
  G& first = s.stack_waiters.take_first(size_class);
  bind(first, own);
  first.transition(g_status::waiting, g_status::runnable);
  locked.put(first);
}

// Under the lock only the pool's free list is asked, because a new stack costs a guard and a page fault. A new stack is
// made without the lock and goes to the free list, where the goroutine that is first by then gets it. A goroutine
// leaves the list only with a stack. So either the thread that frees a stack sees the list, or the freed stack is seen
// here. When the system has refused memory once, it is not asked again: thousands of goroutines may wait, and this is
// called for each stack that is freed.
void start_waiters_of(Sched& s, std::size_t size_class) noexcept {
  constexpr int at_once = 64;  // other threads want the lock
  int left = at_once;
  global_publication locked(s);
  for (bool may_map = true; G const* const first = s.stack_waiters.first(size_class);) {
    std::size_t const size = s.stack_size_of(*first);
    if (stack* const own = s.stacks.take_recycled(size)) {
      start_first(locked, s, size_class, *own);
      if (--left > 0) continue;
      left = at_once;
      locked.release_lock();
      locked.acquire_lock();
      continue;
    }
    if (!may_map) return;
    locked.release_lock();
    stack* const fresh = s.stacks.allocate(size);
    if (fresh != nullptr) s.stacks.release(fresh);
    may_map = fresh != nullptr;
    os::chaos_point("stack_wait.asked");
    locked.acquire_lock();
  }
}

}  // namespace

void start_stack_waiters(Sched& s) noexcept {
  for (std::size_t size_class = 0; size_class < stack_pool::classes; ++size_class) start_waiters_of(s, size_class);
}

void wait_for_stack(M& m, G& g) noexcept {
  Sched& s = m.sched;
  {
    os::lock_guard const guard(s.lock);
    g.status.store(g_status::waiting, relaxed);  // its status may be `running`, because it was claimed
    g.waits_for = wait_reason::stack_memory;
    s.stack_waiters.add(g, s.stacks.class_number(s.stack_size_of(g)));
    // A thread that frees a stack after this sees the count or, at its next safe point, the request. An idle P sees
    // neither.
    for (auto const& p : s.procs) p->attention.fetch_or(attend::give_up_stacks, release);
    s.idle.for_each_idle([&](P& p) {
      p.attention.fetch_and(~attend::give_up_stacks, relaxed);
      p.stacks.flush(s.stacks);
    });
  }
  start_stack_waiters(s);
}

void put_stack(P& p, stack* freed) noexcept {
  freed->goroutine_id = 0;
  if (!p.sched.stack_waiters.any()) {
    p.stacks.put(p.sched.stacks, freed);
    return;
  }
  p.sched.stacks.release(freed);
  start_stack_waiters(p.sched);
}

void give_up_cached_stacks(P& p) noexcept {
  p.attention.fetch_and(~attend::give_up_stacks, acquire);  // pairs with wait_for_stack
  p.stacks.flush(p.sched.stacks);
  start_stack_waiters(p.sched);
}

}  // namespace thrum::rt
