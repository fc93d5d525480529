// yield (Go's Gosched): the current goroutine goes to the back of its P's queue.
#include "sched/queues.h"
#include "sched/suspend.h"
#include "sched/wake.h"
#include <thrum/go.h>

#include <stdexcept>

namespace thrum {
namespace {

using namespace rt;

// A goroutine that yielded is off its stack: it can be queued. Its P had something else to run and still has as much, but
// while the goroutine was in no queue a searching M may have found nothing and gone to sleep: so this is a publication
// like any other.
void commit_yield(M& m, G& left, void*) noexcept {
  P& p = *m.p;
  put_tail(p, entry::plain(&left));
  if (m.sched.options.procs == 1) return;
  store_load_fence();
  wake_if_idle(m.sched);
}

[[noreturn, gnu::noinline]] void throw_not_a_goroutine() {
  throw std::logic_error("thrum::yield: only a goroutine can yield");
}

}  // namespace

void yield() {
  M* const m = current_m();
  if (m == nullptr || m->current == nullptr) throw_not_a_goroutine();
  enter(*m);
  P& p = *m->p;
  count(p.counters.yields);
  bool const global_turn = p.ticks_to_global == 0 && m->sched.global_size.load(relaxed) != 0;
  if (p.queue.is_empty_to_owner() && !global_turn && p.attention.load(relaxed) == 0) {
    p.tick();  // nobody else is here
    leave(*m);
    return;
  }
  m->current->transition(g_status::running, g_status::runnable);
  leave(suspend(*m, commit_yield, nullptr, commit_holds::nothing));
}

}  // namespace thrum
