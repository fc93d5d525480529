#include "sched/exit_stage.h"

#include "base/check.h"
#include "core/current.h"
#include "core/forked.h"
#include "stack/stack.h"

#include <cstdlib>

namespace thrum::rt {
namespace {

// Otherwise it is not the goroutine that calls exit().
bool is_on_stack_of(G const& g) noexcept {
  char const here = 0;
  char const* const address = &here;
  return g.on != nullptr && address >= g.on->low && address < g.on->top;
}

THRUM_OPAQUE void stop_others_if_goroutine_exits() noexcept {
  M* const m = current_m();
  if (m == nullptr || m->current == nullptr || m->is_foreign || !is_on_stack_of(*m->current)) return;
  if (forked_inside_run()) return;          // the others are not in this process
  if (m->in_runtime.load(relaxed)) return;  // a handler that has interrupted the runtime
  Sched& s = m->sched;
  // relaxed: a hint. A goroutine that its run has left behind goes on with exit() as before.
  if (s.is_over.load(relaxed)) return;
  enter(*m);
  s.exits_on.store(m, release);    // pairs with house::end
  m->current->blocking_depth = 0;  // it does not go back to a call that it has announced
  m->attention.fetch_and(~m_attend::visits, relaxed);
  stop_all_but(*m);
  leave(*m);
}

}  // namespace

void watch_for_exit() noexcept {
  static bool const is_watched = std::atexit([] { stop_others_if_goroutine_exits(); }) == 0;
  static_cast<void>(is_watched);  // without memory for it the others run on
}

void check_that_exit_does_not_wait(M const& m) noexcept {
  if (m.sched.exits_on.load(relaxed) != &m) return;  // relaxed: written by this thread, or of no interest
  fatal(
      "a goroutine that called exit() waits, in the destructor of a static object or in a function of atexit; the other "
      "goroutines have been stopped and cannot wake it. End the run before the program exits, or do not wait there");
}

}  // namespace thrum::rt
