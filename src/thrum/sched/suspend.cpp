#include "sched/suspend.h"

#include "base/check.h"
#include "os/chaos.h"
#include "sched/make_way.h"
#include "sched/own_thread.h"
#include "sched/pick.h"
#include "sched/switch.h"
#include "stack/overflow.h"

namespace thrum::rt {
namespace {

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
[[gnu::always_inline]] inline context const& successor(M& m, search_result next, commit_holds holds) noexcept {
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
  begin_run(m, next, chosen_by::goroutine_before);
  count(p.counters.switches_direct);
  return next.g->saved;
}

}  // namespace

M& suspend(M& m, commit_holds holds, commit_step commit, void* argument) noexcept {
  G& g = *m.current;
  if (m.suspend_by == suspend_mode::in_place) [[unlikely]]
    return suspend_in_place(m, commit, argument);
  check_depth(m, g);
  auto const mine = goroutine_globals::saved_from(m.globals);  // before a system call of thrum's can set errno
  set_commit(m, g, commit, argument);
  search_result const next = m.suspend_by == suspend_mode::directly ? pick_local(m) : search_result();
  context const& to = successor(m, next, holds);
  switch_context(g.saved, to, departure::comes_back);
  os::chaos_point("park.left");  // the goroutine has left its stack, and no other thread knows it yet
  M& here = arrive();
  mine.restore_to(here.globals);
  return settle_announced(here, g);
}

void suspend_for_good(M& m, G* next, commit_step commit, void* argument) noexcept {
  G& g = *m.current;
  set_commit(m, g, commit, argument);
  context const& to = successor(m, {next, m.handed_inherits}, commit_holds::nothing);
  switch_context(g.saved, to, departure::for_good);
  fatal("internal error: goroutine %llu was resumed after its end", static_cast<unsigned long long>(g.id));
}

}  // namespace thrum::rt
