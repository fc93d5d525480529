// yield (Go's Gosched): the current goroutine goes to the tail of its P's run queue.
#include "core/forked.h"
#include "core/trace.h"
#include "sched/pick.h"
#include "sched/runnable.h"
#include "sched/suspend.h"
#include "sched/timers.h"
#include <thrum/go.h>

#include <stdexcept>
#include <string>

namespace thrum {
namespace {

using namespace rt;

// A goroutine that yielded has left its stack, so it can be queued. Its P had something else to run, and has as much as
// before. But while the goroutine was in no queue, a searching M may have found nothing and gone to sleep, so this is a
// publication like any other.
void commit_yield(M& m, G& left, void*) noexcept { make_runnable(m, left, queue_place::tail); }

// The P has nothing in its own queue, and it is time to look at its timers. True: a timer is due.
[[gnu::noinline]] bool timers_have_their_turn(P& p) noexcept {
  if (p.timers.any() && p.timers.next_when() <= timer_clock_ns()) return true;
  let_others_pass_runnext(p);
  return false;
}

// Whether only the caller wants its P, whose own queue is empty.
[[gnu::always_inline]] inline bool is_alone(M const& m) noexcept {
  P& p = *m.p;
  if (m.sched.global_size.load(relaxed) != 0 || p.attention.load(relaxed) != 0 || m.residents.any_runnable())
    return false;
  count_down(p.runs_to_look);
  return p.runs_to_look.load(relaxed) != 0 || !timers_have_their_turn(p);
}

[[noreturn, gnu::noinline]] void throw_not_a_goroutine() {
  if (forked_inside_run()) throw std::logic_error(std::string("thrum::yield: ") + why_no_runtime());
  throw std::logic_error("thrum::yield: only a goroutine can yield");
}

}  // namespace

void yield() {
  M* const m = current_m();
  if (m == nullptr || m->current == nullptr || m->is_foreign) throw_not_a_goroutine();
  enter_runtime(*m);
  P& p = *m->p;
  count(p.counters.yields);
  commit_step where = commit_yield;
  if (p.queue.is_empty_to_owner()) {
    if (is_alone(*m)) {
      p.tick();
      leave_runtime(*m);
      return;
    }
    where = commit_to_global;  // with nothing on its own P it lets the goroutines in the global queue go first
  }
  m->current->transition(g_status::running, g_status::runnable);
  trace::yields(*m, *m->current, trace::yield_detail::by_call);
  leave_runtime(suspend(*m, commit_holds::nothing, where, nullptr));
}

}  // namespace thrum
