#include "sched/suspend.h"

#include "base/check.h"
#include "os/chaos.h"
#include "sched/goroutine.h"
#include "sched/home.h"
#include "sched/own_thread.h"
#include "sched/schedule.h"
#include "stack/overflow.h"

namespace thrum::rt {
namespace {

void set_commit(M& m, G& g, commit_step commit, void* argument) noexcept {
  THRUM_DCHECK(m.commit == nullptr);
  m.commit = commit;
  m.committed = &g;
  m.commit_argument = argument;
  // sys/parked_stacks relies on this order: the commit step is pending before the goroutine ceases to be current
  signal_fence();
}

// A frame that is larger than the guard may have jumped over it into another goroutine's stack, which is best found out
// before others run. Here only the depth is checked, without reading the stack itself.
[[gnu::always_inline]] inline void check_depth(M const& m, G const& g) noexcept {
  char const* const sp = stack_pointer();
  auto const depth =
      static_cast<std::size_t>(reinterpret_cast<char const*>(g.on) - sp);  // the descriptor is at the top
  if (depth > m.sched.stack_reach.load(relaxed)) [[unlikely]]
    check_stack_pointer(g);
}

// Chooses what runs after a goroutine that leaves, and returns the context to switch to.
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
  check_depth(m, g);
  auto const mine = goroutine_globals::saved_from(m.globals);  // before a system call of thrum's can set errno
  set_commit(m, g, commit, argument);
  found const next = m.leaves == leaving::directly ? pick_local(m) : found();
  context const& to = successor(m, next, holds);
  switch_context(g.saved, to, departure::comes_back);
  os::chaos_point("park.left");  // the goroutine has left its stack, and no other thread knows it yet
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

bool has_left_its_stack(G const& g, char const* sp) noexcept {
  return g.on != nullptr && !is_on(*g.on, sp) && lies_in_an_arena(sp);  // a program may have stacks of its own
}

void check_stack_pointer(G const& g) noexcept {
  if (!has_left_its_stack(g, stack_pointer())) return;
  struct {
    G const& g;
    context here;
  } self{g, {}};
  call_with_context(
      self.here,
      [](void* its) noexcept {
        auto const& of = *static_cast<decltype(self) const*>(its);
        report_jump({*of.g.on, of.g.id, of.g.task.created_at}, registers_of(of.here));
      },
      &self);
}

bool bind_stack(P& p, G& g) noexcept {
  stack* const own = g.task.stack_bytes == 0 ? p.stacks.take(p.sched.stacks) : p.sched.allocate_stack(g);
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
