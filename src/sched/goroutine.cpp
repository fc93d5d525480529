#include "sched/goroutine.h"

#include <cxxabi.h>
#include <unwind.h>

#include <cstdlib>

#include "base/check.h"
#include "sched/locals.h"
#include "sched/park.h"
#include "sched/queues.h"
#include "sched/records.h"
#include "sched/schedule.h"
#include "sched/suspend.h"
#include "sched/wake.h"

#if THRUM_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace thrum::rt {
namespace {

// --- goexit ---
// A forced unwinding, as pthread_cancel uses it: destructors run and see no exception in flight; a catch (...) on the way
// runs its handler, but whether it rethrows or not, the unwinding goes on when the handler ends. It stops in
// run_user_code, the only frame that catches it for good.

_Unwind_Reason_Code keep_unwinding(int, _Unwind_Action, _Unwind_Exception_Class, _Unwind_Exception*, _Unwind_Context*,
                                   void*) noexcept {
  return _URC_NO_REASON;
}

void start_unwinding(_Unwind_Exception* forced) {
#if THRUM_ASAN
  __asan_handle_no_return();  // frames are about to vanish without their epilogues
#endif
  _Unwind_ForcedUnwind(forced, keep_unwinding, nullptr);
  fatal("goexit reached the end of the stack: it was called below a frame without unwind information");
}

// Called when a handler that caught the forced unwinding ends without rethrowing.
void handler_ended(_Unwind_Reason_Code, _Unwind_Exception* forced) {
  M& m = *current_m();
  if (!m.current->is_exiting) {  // run_user_code: this is the end of the road
    std::free(forced);
    return;
  }
  start_unwinding(forced);
}

// --- the end ---

void finish_exit(M& m, G& left, void* its_stack) noexcept {
  P& p = *m.p;
  forget_context(left.saved);
  auto* const freed = static_cast<stack*>(its_stack);
  freed->goroutine_id = 0;
  p.stacks.put(p.sched.stacks, freed);
  left.on = nullptr;
  if (p.sched.stack_waiters.load(relaxed) != 0) stack_came_free(p);
  if (left.is_joinable) {
    drop_reference(p, left);
  } else {
    put_dead_g(p, left);
  }
}

// The next goroutine has no stack yet and ours will do: it goes on right here, without a switch.
void take_stack_over(M& m, G& ended, G& next) noexcept {
  stack& shared = *ended.on;
  next.on = &shared;
  next.saved = ended.saved;
  ended.on = nullptr;
  shared.goroutine_id = next.id;
  shared.creation_site = next.task.created_at;
  count(m.p->counters.stack_handovers);
  if (ended.is_joinable) {
    drop_reference(*m.p, ended);
  } else {
    put_dead_g(*m.p, ended);
  }
}

bool fits(stack const& present, G const& next, Sched const& s) noexcept {
  std::size_t const wanted = next.task.stack_bytes == 0 ? s.options.stack_size : next.task.stack_bytes;
  return present.size == wanted;
}

// Returns if another goroutine took the stack over; it is m.current then.
void end_goroutine(M& m) noexcept {
  G& g = *m.current;
  Sched& s = m.sched;
  P& p = *m.p;
  g.transition(g_status::running, g_status::dead);
  count(p.counters.ended);
  if (g.is_main) main_goroutine_ended(m, g);
  found next = m.id == 0 ? found() : pick_local(p);
  if (next.g != nullptr && next.g->on == nullptr && fits(*g.on, *next.g, s)) {
    take_stack_over(m, g, *next.g);
    begin_run(m, next);
    return;
  }
  m.handed_inherits = next.inherits_slice;
  suspend_for_good(m, next.g, finish_exit, g.on);
}

}  // namespace

void goroutine_main() {
  M* m = &arrive();
  for (;;) {
    G& g = *m->current;
    goroutine_globals().restore_to(m->globals);
    m->sched.initial_fp.restore();
    leave(*m);
    run_user_code(g);
    m = current_m();
    enter(*m);
    end_goroutine(*m);
  }
}

void run_user_code(G& g) {
  try {
    g.task.step(g.task, detail::task_step::run);
  } catch (abi::__forced_unwind&) {
    if (!g.is_exiting) throw;  // somebody cancels the thread: not ours to stop
    g.is_exiting = false;
  }
  if (g.locals != nullptr || g.name != nullptr) clear_user_state(g);
  if (g.is_joinable) publish_finished(g);
}

void unwind_goroutine(G& g) {
  auto* const forced = static_cast<_Unwind_Exception*>(std::aligned_alloc(alignof(_Unwind_Exception),
                                                                          sizeof(_Unwind_Exception)));
  if (forced == nullptr) fatal("goroutine %llu: no memory for goexit", static_cast<unsigned long long>(g.id));
  forced->exception_class = 0x7468726d65786974;  // "thrmexit": nobody's language
  forced->exception_cleanup = handler_ended;
  g.is_exiting = true;
  start_unwinding(forced);
  std::abort();  // not reached
}

void clear_user_state(G& g) noexcept {
  destroy_locals(g);
  std::free(g.name);
  g.name = nullptr;
}

void stack_came_free(P& p) noexcept {
  Sched& s = p.sched;
  {
    os::lock_guard const guard(s.lock);
    G* const waiting = s.waiting_for_stack.pop_front();
    if (waiting == nullptr) return;
    s.stack_waiters.store(s.waiting_for_stack.size(), relaxed);  // a hint; the list is under the lock
    waiting->transition(g_status::waiting, g_status::unstarted);
    put_global_locked(s, entry_of_unstarted(*waiting));
  }
  wake_if_idle(s);
}

}  // namespace thrum::rt
