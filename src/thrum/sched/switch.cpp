#include "sched/switch.h"

#include "base/check.h"
#include "stack/overflow.h"

namespace thrum::rt {

M& suspend_to_g0(M& m, commit_step commit, void* argument) noexcept {
  G& g = *m.current;
  auto const mine = goroutine_globals::saved_from(m.globals);
  set_commit(m, g, commit, argument);
  m.current = nullptr;
  switch_context(g.saved, m.g0, departure::comes_back);
  M& here = arrive();
  mine.restore_to(here.globals);
  return here;
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
