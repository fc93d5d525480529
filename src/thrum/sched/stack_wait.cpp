#include "sched/stack_wait.h"

#include "sched/runnable.h"
#include "sched/switch.h"

namespace thrum::rt {

namespace {

// The goroutine that has waited longest gets the stack and becomes runnable.
void start_first(global_publication& locked, Sched& s, stack& own) noexcept {
  G& first = s.stack_waiters.take_first();
  bind(first, own);
  first.transition(g_status::waiting, g_status::runnable);
  locked.put(first);
}

}  // namespace

// A new stack costs a guard and a page fault, so it is made without sched.lock, for the goroutine that is first at that
// time. Under the lock only the pool's free list is asked. A goroutine leaves the list only with a stack. So either the
// thread that frees a stack sees the list, or the freed stack is seen here.
void start_stack_waiters(Sched& s) noexcept {
  global_publication locked(s);
  for (std::uint32_t left = s.stack_waiters.size(); left > 0 && s.stack_waiters.first() != nullptr; --left) {
    std::size_t const size = s.stack_size_of(*s.stack_waiters.first());
    locked.release_lock();
    stack* const fresh = s.stacks.allocate(size);
    locked.acquire_lock();
    G* const first = s.stack_waiters.first();
    if (fresh != nullptr && (first == nullptr || s.stack_size_of(*first) != size)) {  // other threads were faster
      locked.release_lock();
      s.stacks.release(fresh);
      locked.acquire_lock();
      continue;
    }
    if (first == nullptr) break;
    stack* const own = fresh != nullptr ? fresh : s.stacks.take_recycled(s.stack_size_of(*first));
    if (own != nullptr) {
      start_first(locked, s, *own);
    } else {
      s.stack_waiters.put_first_last();
    }
  }
}

void wait_for_stack(M& m, G& g) noexcept {
  Sched& s = m.sched;
  {
    os::lock_guard const guard(s.lock);
    g.status.store(g_status::waiting, relaxed);  // its status may be `running`, because it was claimed
    g.waits_for = wait_reason::stack_memory;
    s.stack_waiters.add(g);
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
