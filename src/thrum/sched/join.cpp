// Joining: waiting for a goroutine, or running it in place (T07).
//
// A goroutine that has not started has no stack. So its joiner may claim it, with one compare-and-swap in competition
// with the M that pops its queue entry, and call it on the joiner's own stack, as the child: with the child's id,
// locals and name. If the child parks, both wait, which is what join means. The claimed child's queue entry stays
// behind, and the M that meets it drops it.
#include "base/check.h"
#include "core/current.h"
#include "core/forked.h"
#include "core/trace.h"
#include "sched/goroutine.h"
#include "sched/home.h"
#include "sched/lock_os_thread.h"
#include "sched/make_way.h"
#include "sched/park.h"
#include "sched/records.h"
#include "sched/suspend.h"
#include "stack/stack.h"
#include <thrum/detail/task.h>

#include <stdexcept>
#include <string>

namespace thrum::rt {
namespace {

// A child that needs a whole stack must find one below the joiner's frame. Slots have room for that as long as their
// goroutine is near its base.
bool stack_is_deep_enough(M const& m, G const& host, G const& child) noexcept {
  std::size_t const wanted = m.sched.stack_size_of(child);
  auto const* const here = static_cast<char const*>(__builtin_frame_address(0));
  return here - host.on->low >= static_cast<std::ptrdiff_t>(wanted);
}

bool may_host(M const& m, G const& host, G const& child) noexcept {
  return child.status.load(relaxed) == g_status::unstarted && !host.keeps_its_m() &&
         stack_is_deep_enough(m, host, child);
}

// Runs the claimed child here and at once.
void run_in_place(M& m, G& host, G& child) {
  auto const mine = goroutine_globals::saved_from(m.globals);
  auto const my_fp = fp_control::current();
  count(m.p->counters.joined_in_place);
  bool const entry_is_ours = m.p->queue.remove_next(entry::claimable(&child));
  host.transition(g_status::running, g_status::hosting);
  trace::hosts(m, host, child);
  trace::started(m, child, trace::start_detail::in_place);
  child.is_hosted = true;
  child.on = host.on;
#if THRUM_ASAN || THRUM_TSAN
  child.saved = host.saved;
#endif
  m.current = &child;
  goroutine_globals().restore_to(m.globals);
  m.sched.initial_fp.restore();
  leave_runtime(m);

  run_user_code(child);

  M* const after = current_m();
  if (after == nullptr) [[unlikely]] {  // in a child of fork, where it was a function call
    child.join.store(join_finished, relaxed);
    return;
  }
  M& here = *after;
  enter_runtime(here);
  child.transition(g_status::running, g_status::dead);
  trace::ends(here, child, trace::end_detail::in_place);
  child.is_hosted = false;
  child.on = nullptr;
  child.join.store(join_finished, relaxed);  // relaxed: only the joiner holds the handle
  count(here.p->counters.ended);
  here.current = &host;
  host.transition(g_status::hosting, g_status::running);
  trace::has_hosted(here, host);
  mine.restore_to(here.globals);
  my_fp.restore();
  // relaxed: no other thread can see it, because there is no entry and the joiner holds the handle
  if (entry_is_ours) child.references.store(1, relaxed);
  end_lock(here, child);
  static_cast<void>(here.ends_with_goroutine ? leave_m_by_global_queue(here) : settle_announced(here, host));
}

// The commit step of a goroutine that waits in join: tells the child which goroutine to wake, unless the child has
// finished meanwhile.
void commit_join(M& m, G& left, void* argument) noexcept {
  G& child = *static_cast<G*>(argument);
  std::uintptr_t expected = join_pending;
  // release pairs with publish_finished's acquire: the waiter is parked before it can be readied. acquire on failure:
  // the result is there.
  if (!child.join.compare_exchange(expected, reinterpret_cast<std::uintptr_t>(&left), acq_rel, acquire)) ready(m, left);
}

}  // namespace

}  // namespace thrum::rt

namespace thrum::detail {

using namespace rt;

void join_task(task& joined) {
  G& child = G::of(joined);
  if (child.is_orphan()) {
    if (task_finished(joined)) return;
    throw std::logic_error("thrum: join: the run of the goroutine ended before the goroutine did");
  }
  M* m = callers_m();
  if (m == nullptr && task_finished(joined)) return;
  if (m == nullptr) throw std::logic_error(std::string("thrum: join would have to wait, but ") + why_no_runtime());
  enter_runtime(*m);
  if (may_host(*m, *m->current, child) && claim(child)) {
    run_in_place(*m, *m->current, child);
    m = current_m();
    if (m == nullptr) return;                              // in a child of fork
  } else if (child.join.load(acquire) != join_finished) {  // pairs with publish_finished: the result is there
    m = &park(*m, wait_reason::join, commit_join, &child, commit_holds::nothing,
              reinterpret_cast<std::uintptr_t>(&child.task));
  }
  leave_runtime(*m);
}

bool task_finished(task const& joined) noexcept {
  return G::of(const_cast<task&>(joined)).join.load(acquire) == join_finished;  // pairs with publish_finished
}

void release_task(task& joined) noexcept {
  G& g = G::of(joined);
  M* const m = g.is_orphan() ? nullptr : callers_m();
  if (m == nullptr || !enter_if_alive(*m)) return;  // the handle outlived its run, so the record stays where it is
  drop_reference(*m->p, g);
  leave_runtime(*m);
}

void detach_task(task& joined) noexcept {
  G& g = G::of(joined);
  // acquire: if the goroutine has finished, the caller drops its result. release pairs with publish_finished's acquire.
  if (g.join.exchange(join_detached, acq_rel) == join_finished) joined.step(joined, task_step::drop);
  release_task(joined);
}

}  // namespace thrum::detail
