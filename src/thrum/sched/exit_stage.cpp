#include "sched/exit_stage.h"

#include "base/check.h"
#include "core/current.h"
#include "core/forked.h"
#include "core/trace.h"
#include "os/clock.h"
#include "os/short_wait.h"
#include "sched/end_all_ms.h"
#include "sched/home.h"
#include "stack/stack.h"

#include <cstdint>
#include <cstdlib>

namespace thrum::rt {
namespace {

// Whether the caller runs on g's stack. If not, it is not the goroutine that calls exit().
bool is_on_stack_of(G const& g) noexcept {
  char const here = 0;
  char const* const address = &here;
  return g.on != nullptr && address >= g.on->low && address < g.on->top;
}

// Enters the runtime, with a P. But if the run ends at this moment, a goroutine in an announced call may have lost its
// P, and perhaps no P is idle. Then only the mark is set, and the program ends with a message if the goroutine later
// calls something that needs a P while none is idle.
void enter_to_exit(M& m) noexcept {
  m.in_runtime.store(true, relaxed);
  signal_fence();
  if (m.attention.load(relaxed) != 0) m_hooks.entered_to_exit(m);
}

// From here on the goroutine is like a foreign thread: it keeps its thread, and it keeps its P in calls that it
// announces (G::blocking_depth). None of its waits switches.
void keep_thread_and_p(M& m) noexcept {
  m.attention.fetch_and(~m_attend::visits, relaxed);
  m.current->blocking_depth = 1;
  stay_for_good(m);
}

// The thread of the debug socket may be stopping the world for a dump. That usually takes some hundred microseconds. If
// the P of this goroutine has not stopped yet, it takes a second, after which the dump is made without that P.
void wait_for_dump(Sched& s) noexcept {
  constexpr std::int64_t patience_ns = 5'000'000'000;
  static_cast<void>(os::wait_until([&] { return !s.world.is_dumped(); }, os::monotonic_ns() + patience_ns));
}

THRUM_OPAQUE void stop_others_if_goroutine_exits() noexcept {
  M* const m = current_m();
  if (m == nullptr || m->current == nullptr || m->is_foreign || !is_on_stack_of(*m->current)) return;
  if (forked_inside_run()) return;               // the other goroutines are not in this process
  if (m->in_runtime.load(relaxed)) return;       // a signal handler that has interrupted the runtime
  if (!m->sched.end.claim_for_exit(*m)) return;  // a goroutine that its run has left behind goes on with exit() alone
  wait_for_dump(m->sched);
  enter_to_exit(*m);
  keep_thread_and_p(*m);
  stop_all_but(*m);
  if (m->p != nullptr) {
    leave_runtime(*m);
  } else {
    clear_mark(*m);
  }
}

bool exits(M const& m) noexcept { return m.sched.end.exits_on(m); }

[[noreturn]] void report_wait(char const* reason) noexcept {
  fatal(
      "a goroutine has called exit() and waits (%s) in the destructor of a static object or in a function of "
      "atexit. The other "
      "goroutines have been stopped and cannot wake it. Let the run end before the program exits, or do not wait there",
      reason);
}

}  // namespace

void watch_for_exit() noexcept {
  static bool const is_watched = std::atexit([] { stop_others_if_goroutine_exits(); }) == 0;
  static_cast<void>(is_watched);  // if there was no memory for it, the others are not stopped
}

void check_that_exit_does_not_wait(M const& m) noexcept {
  if (exits(m)) report_wait("it has left its thread");
}

bool goes_on_exiting(M& m) noexcept {
  if (!exits(m)) return false;
  G& g = *m.current;
  if (g.status.load(relaxed) != g_status::runnable) report_wait(name_of(g.waits_for));
  g.transition(g_status::runnable, g_status::running);
  trace::started(m, g, trace::start_detail::on_own_thread);
  return true;
}

void wait_for_other_ps(M& m, os::note& done) noexcept {
  constexpr std::int64_t patience_ns = 1'000'000'000;
  if (!exits(m)) {
    m.sleeps_inside.store(true, relaxed);  // relaxed: it and the next store only tell how long to wait for this thread
    done.sleep();
    m.sleeps_inside.store(false, relaxed);
  } else if (!done.sleep_for(patience_ns)) {
    report_wait("for all processors");
  }
}

}  // namespace thrum::rt
