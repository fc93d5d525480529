#include "sched/suspend.h"

#include "base/check.h"
#include "os/chaos.h"
#include "sched/goroutine.h"
#include "sched/home.h"
#include "sched/own_thread.h"
#include "sched/schedule.h"

namespace thrum::rt {
namespace {

void set_commit(M& m, G& g, commit_step commit, void* argument) noexcept {
  THRUM_DCHECK(m.commit == nullptr);
  m.commit = commit;
  m.committed = &g;
  m.commit_argument = argument;
  signal_fence();  // parked_stacks relies on the order: pending first, then no longer current
}

// What comes after a goroutine that leaves: the context to switch to.
[[gnu::always_inline]] inline context const& successor(M& m, found next, commit_holds holds) noexcept {
  P& p = *m.p;
  bool const needs_g0 =
      next.g != nullptr &&
      (next.g->takes_detour() || (next.g->on == nullptr && (holds == commit_holds::lock || !bind_stack(p, *next.g))));
  if (needs_g0) {
    m.handed = next.g;
    m.handed_inherits = next.inherits_slice;
    next = {};
  }
  if (next.g == nullptr) {
    m.current = nullptr;
    count(p.counters.switches_via_g0);
    return m.g0;
  }
  begin_run(m, next);
  count(p.counters.switches_direct);
  return next.g->saved;
}

}  // namespace

M& suspend(M& m, commit_step commit, void* argument, commit_holds holds) noexcept {
  G& g = *m.current;
  if (m.leaves == leaving::in_place) [[unlikely]]
    return suspend_in_place(m, commit, argument);
  auto const mine = goroutine_globals::saved_from(m.globals);  // before a system call of ours can set errno
  set_commit(m, g, commit, argument);
  found const next = m.leaves == leaving::directly ? pick_local(m) : found();
  context const& to = successor(m, next, holds);
  switch_context(g.saved, to, departure::comes_back);
  os::chaos_point("park.left");  // it has left its stack, and nobody knows yet
  M& here = arrive();
  mine.restore_to(here.globals);
  return settle(here, g);
}

M& suspend_without_p(M& m, commit_step commit, void* argument) noexcept {
  G& g = *m.current;
  auto const mine = goroutine_globals::saved_from(m.globals);
  set_commit(m, g, commit, argument);
  m.current = nullptr;
  switch_context(g.saved, m.g0, departure::comes_back);
  M& here = arrive();
  mine.restore_to(here.globals);
  return here;
}

void suspend_for_good(M& m, G* next, commit_step commit, void* argument) noexcept {
  G& g = *m.current;
  set_commit(m, g, commit, argument);
  context const& to = successor(m, {next, m.handed_inherits}, commit_holds::nothing);
  switch_context(g.saved, to, departure::for_good);
  fatal("internal error: goroutine %llu was resumed after its end", static_cast<unsigned long long>(g.id));
}

bool bind_stack(P& p, G& g) noexcept {
  stack_pool& pool = p.sched.stacks;
  stack* const own = g.task.stack_bytes == 0 ? p.stacks.take(pool) : pool.allocate(g.task.stack_bytes);
  if (own != nullptr) bind(g, *own);
  return own != nullptr;
}

void bind(G& g, stack& own) noexcept {
  g.on = &own;
  own.goroutine_id = g.id;
  own.creation_site = g.task.created_at;
  make_context(g.saved, own.low, own.top, goroutine_main);
}

}  // namespace thrum::rt
