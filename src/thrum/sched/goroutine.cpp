#include "sched/goroutine.h"

#include "base/check.h"
#include "base/sanitizer_of_program.h"
#include "core/trace.h"
#include "sched/home.h"
#include "sched/locals.h"
#include "sched/park.h"
#include "sched/pick.h"
#include "sched/records.h"
#include "sched/stack_wait.h"
#include "sched/suspend.h"
#include "sched/switch.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include <cxxabi.h>
#include <unwind.h>

#if THRUM_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace thrum::rt {
namespace {

// --- goexit ---
// goexit is a forced unwinding, like that of pthread_cancel. Destructors run and see no exception in flight. A catch
// (...) on the way runs its handler, and whether it rethrows or not, the unwinding goes on when the handler ends. It
// stops in run_user_code, the only frame that catches it for good.
//
// If goexit is called inside a handler, the exceptions that are being handled are put aside, because the C++ library
// does not allow a foreign unwinding to be caught while others are. They are ended when the unwinding has ended.

struct exit_unwinding {
  // A handler may catch the unwinding and call std::terminate, as clang does where goexit meets a noexcept function.
  // The C++ library's terminate handler then reads the type of the exception in front of the header. Null means that
  // there is none.
  std::array<void*, 16> cxx_header;
  _Unwind_Exception header;  // the part that the unwinder knows
  exception_globals before;  // the exceptions being handled, and the count in flight, when goexit was called
  bool superseded;           // goexit was called once more, in a handler that had caught this unwinding
};

exit_unwinding& unwinding_of(_Unwind_Exception* header) noexcept {
  return *reinterpret_cast<exit_unwinding*>(reinterpret_cast<char*>(header) - offsetof(exit_unwinding, header));
}

_Unwind_Reason_Code before_each_frame(int, _Unwind_Action, _Unwind_Exception_Class, _Unwind_Exception* header,
                                      _Unwind_Context*, void*) noexcept {
  // A handler that rethrew has counted the unwinding as an exception in flight, which it is not.
  current_m()->globals.exceptions->uncaught = unwinding_of(header).before.uncaught;
  return _URC_NO_REASON;
}

void start_unwinding(exit_unwinding& forced) {
#if THRUM_ASAN
  __asan_handle_no_return();  // frames are about to vanish without their epilogues
#elif THRUM_PROGRAM_MAY_HAVE_ASAN
  if (program_has_asan()) __asan_handle_no_return();
#endif
  _Unwind_ForcedUnwind(&forced.header, before_each_frame, nullptr);
  fatal(
      "goexit could not unwind the whole stack, because a calling function has no unwind information; compile it "
      "with -fasynchronous-unwind-tables");
}

// Called when a handler that caught the forced unwinding ends without rethrowing it.
void handler_ended(_Unwind_Reason_Code, _Unwind_Exception* header) {
  auto& forced = unwinding_of(header);
  M& m = *current_m();
  G& g = *m.current;
  if (g.is_exiting && !forced.superseded) {
    if (m.globals.exceptions->uncaught > forced.before.uncaught) {
      fatal("goroutine %llu: an exception left a catch (...) that was handling goexit",
            static_cast<unsigned long long>(g.id));
    }
    start_unwinding(forced);
  }
  if (!forced.superseded) {
    // The unwinding has reached run_user_code and is over. The exceptions that were being handled when goexit was
    // called are put back.
    *m.globals.exceptions = forced.before;
    // Their destructors are user code and may park, so the thread whose list it is must be looked up each time.
    while (current_m()->globals.exceptions->caught != nullptr) abi::__cxa_end_catch();
  }
  std::free(&forced);
}

// --- the end ---

void finish_exit(M& m, G& left, void* its_stack) noexcept {
  P& p = *m.p;
  forget_context(left.saved);
  put_stack(p, static_cast<stack*>(its_stack));
  left.on = nullptr;
  recycle(p, left);
}

// The next goroutine has no stack yet, and the ended goroutine's stack fits. It goes on here, without a switch.
void take_stack_over(M& m, G& ended, G& next) noexcept {
  stack& shared = *ended.on;
  next.on = &shared;
  next.saved = ended.saved;
  ended.on = nullptr;
  shared.goroutine_id = next.id;
  shared.creation_site = next.task.created_at;
  count(m.p->counters.stack_handovers);
  recycle(*m.p, ended);
}

// Returns if another goroutine took the stack over; that goroutine is m.current then.
void end_goroutine(M& m) noexcept {
  G& g = *m.current;
  Sched& s = m.sched;
  P& p = *m.p;
  g.transition(g_status::running, g_status::dead);
  trace::ends(m, g, trace::end_detail::normally);
  count(p.counters.ended);
  end_lock(m, g);
  if (g.is_main) main_goroutine_ended(m, g);
  search_result next = m.suspend_by == suspend_mode::directly ? pick_local(m) : search_result();
  bool const needs_stack = next.g != nullptr && next.g->on == nullptr && !next.g->takes_detour();
  if (needs_stack && g.on->size == s.stack_size_of(*next.g)) {
    take_stack_over(m, g, *next.g);
    begin_run(m, next, chosen_by::goroutine_before);
    return;
  }
  m.handed_inherits = next.inherits_slice;
  suspend_for_good(m, next.g, finish_exit, g.on);
}

// There is no scheduler in this process, and only the main goroutine can return to a caller.
[[noreturn, gnu::cold]] void end_in_child_of_fork(G const& g) noexcept {
  if (g.is_main && return_from_run_in_child != nullptr) return_from_run_in_child();
  fatal(
      "goroutine %llu called fork and has ended in the child process, where no other goroutine exists; call exec "
      "or _exit in the child",
      static_cast<unsigned long long>(g.id));
}

}  // namespace

constinit child_exit return_from_run_in_child = nullptr;

void goroutine_main() {
  M* m = &arrive();
  for (;;) {
    G& g = *m->current;
    goroutine_globals().restore_to(m->globals);
    m->sched.initial_fp.restore();
    leave_runtime(*m);
    run_user_code(g);
    m = current_m();
    if (m == nullptr) [[unlikely]]
      end_in_child_of_fork(g);
    enter_runtime(*m);
    end_goroutine(*m);
  }
}

// no_sanitize: the C++ library passes a null reference to the handler of a forced unwinding. The handler must name the
// type, because a catch (...) here would stop the search for a handler, and the panic report would come too late to
// show the place of the throw.
__attribute__((no_sanitize("null"))) void run_user_code(G& g) {
  try {
    g.task.step(g.task, detail::task_step::run);
  } catch (abi::__forced_unwind&) {
    if (!g.is_exiting) throw;  // another thread cancels this thread, which must not be stopped here
    g.is_exiting = false;
    g.exit = nullptr;
  }
  if (g.locals != nullptr || g.name != nullptr) clear_user_state(g);
  if (g.is_joinable) publish_finished(g);
  // a result that was dropped may have a destructor that makes locals
  if (g.locals != nullptr || g.name != nullptr) clear_user_state(g);
}

void unwind_goroutine(G& g) {
  exception_globals& globals = *current_m()->globals.exceptions;
  auto* const forced =
      static_cast<exit_unwinding*>(std::aligned_alloc(alignof(exit_unwinding), sizeof(exit_unwinding)));
  if (forced == nullptr) fatal("goroutine %llu: no memory for goexit", static_cast<unsigned long long>(g.id));
  forced->cxx_header = {};
  forced->header = {};
  forced->header.exception_class = 0x7468726d65786974;  // "thrmexit": the class of no language
  forced->header.exception_cleanup = handler_ended;
  forced->superseded = false;
  forced->before = globals;
  if (auto* const earlier = static_cast<exit_unwinding*>(g.exit)) {
    earlier->superseded = true;
    forced->before = earlier->before;  // what is being handled at this moment is the earlier goexit itself
  } else {
    globals.caught = nullptr;
  }
  g.exit = forced;
  g.is_exiting = true;
  start_unwinding(*forced);
  std::abort();  // not reached
}

// In std::terminate, the newest of the exceptions that are being handled is the one that caused the call. goexit's own
// unwinding is recognised by its address, because the C++ library takes what stands right before the unwinder's header
// for its own record of the exception.
exit_obstacle obstacle_of_exit(G const& g) noexcept {
  auto const* const forced = static_cast<exit_unwinding const*>(g.exit);
  if (!g.is_exiting || forced == nullptr) return exit_obstacle::none;
  auto const newest = reinterpret_cast<std::uintptr_t>(current_m()->globals.exceptions->caught);
  bool const is_ours = newest - reinterpret_cast<std::uintptr_t>(&forced->cxx_header) < sizeof forced->cxx_header;
  if (newest != 0 && !is_ours) return exit_obstacle::exception_thrown;
  return forced->before.uncaught != 0 ? exit_obstacle::exception_in_flight : exit_obstacle::noexcept_function;
}

void clear_user_state(G& g) noexcept {
  destroy_locals(g);
  M* const m = current_m();             // nullptr in a child of fork
  if (m != nullptr) enter_runtime(*m);  // a dump reads the name while no goroutine is inside the runtime
  char* const name = std::exchange(g.name, nullptr);
  if (m != nullptr) leave_runtime(*m);
  std::free(name);
}

}  // namespace thrum::rt
