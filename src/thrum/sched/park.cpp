#include "sched/park.h"

#include "base/check.h"
#include "core/current.h"
#include "core/trace.h"
#include "core/wait_profile.h"
#include "os/chaos.h"
#include "os/clock.h"
#include "sched/runnable.h"
#include "sched/suspend.h"
#include <thrum/detail/task.h>

namespace thrum::rt {
namespace {

M& go_to_the_end(M& m) noexcept {
  m.current->transition(g_status::running, g_status::runnable);
  trace::yields(m, *m.current, trace::yield_detail::when_asked);
  return suspend(m, commit_holds::nothing, commit_to_global, nullptr);
}

// Whether waits and wake-ups are traced, measured or profiled.
[[gnu::always_inline]] inline bool is_noted(M const& m) noexcept {
  return m.sched.trace.notes_waits() || wait_profiles_on.load(relaxed) != 0;
}

// The same as suspend for a wait that is noted.
[[gnu::noinline]] M& suspend_noted(M& m, commit_holds holds, commit_step commit, void* argument,
                                   std::uintptr_t object) noexcept {
  G& g = *m.current;
  wait_reason const reason = g.waits_for;
  trace::stopped(m, g, reason, object);
  std::int64_t const since_ns = m.sched.trace.measures_waits() ? os::monotonic_ns() : 0;
  std::int64_t const profiled_since_ns = wait_profiles_on.load(relaxed) != 0 ? begin_profiled_wait(g, reason) : 0;
  M& here = suspend(m, holds, commit, argument);
  if (since_ns != 0) note_end_of_wait(here, reason, since_ns);
  if (profiled_since_ns != 0) end_profiled_wait(here, reason, profiled_since_ns);
  return here;
}

}  // namespace

void note_end_of_wait(M& m, wait_reason reason, std::int64_t since_ns) noexcept {
  auto const at = static_cast<std::size_t>(reason);
  count(m.p->counters.waits_measured[at]);
  count(m.p->counters.waited_ns[at], static_cast<std::uint64_t>(os::monotonic_ns() - since_ns));
}

M& park(M& m, wait_reason reason, commit_step commit, void* argument, commit_holds holds,
        std::uintptr_t object) noexcept {
  G& g = *m.current;
  g.waits_for = reason;
  g.transition(g_status::running, g_status::waiting);
  count(m.p->counters.waits[static_cast<std::size_t>(reason)]);
  M& here = is_noted(m) ? suspend_noted(m, holds, commit, argument, object) : suspend(m, holds, commit, argument);
  return os::chaos_ends_slice() ? go_to_the_end(here) : here;  // chaos: its slice is over as soon as it is woken
}

M& yield_at_end_of_slice(M& m) noexcept {
  // The request is about an earlier slice, or only asks to look at the P, which leave_runtime() does.
  if (m.is_foreign || !m.pause.is_about(m.p->schedtick.load(relaxed))) return m;
  m.attention.fetch_and(~m_attend::pause, relaxed);
  count(m.p->counters.preempted);
  return go_to_the_end(m);
}

void sleep_for_good(M& m, wait_reason reason) noexcept {
  park(
      m, reason, [](M&, G&, void*) noexcept {}, nullptr, commit_holds::nothing);
  fatal("internal error: a goroutine that sleeps for good was woken");
}

namespace {

// For what goroutines that are about to be readied have waited: see note_contention.
class contention {
 public:
  void add(G const& g) noexcept {
    if ((wait_profiles_on.load(relaxed) & contended_waits_bit) == 0) [[likely]]
      return;
    std::int64_t const ns = contended_ns(g);
    if (ns == 0) return;
    reason_ = g.waits_for;
    ++waits_;
    ns_ += ns;
  }
  // When they are readied, so that they need not wait for it.
  void note(M& m) const noexcept {
    if (waits_ != 0) [[unlikely]]
      note_contention(m, reason_, waits_, ns_);
  }

 private:
  wait_reason reason_ = wait_reason::none;
  std::uint64_t waits_ = 0;
  std::int64_t ns_ = 0;
};

[[gnu::always_inline]] inline void make_next(M& m, G& g) noexcept {
  g.end_wait();
  make_runnable(m, g, queue_place::next);
}

// The same as ready for a wake-up that is traced or profiled.
[[gnu::noinline]] void ready_noted(M& m, G& g, std::uintptr_t site) noexcept {
  contention had;
  had.add(g);
  trace::readied(m.sched, g, trace::ready_detail::next, site);
  make_next(m, g);
  had.note(m);
}

}  // namespace

// A wake-up that is noted is left to a function that is called last, so that the usual case saves few registers.
void ready(M& m, G& g, std::uintptr_t site) noexcept {
  if (is_noted(m)) [[unlikely]]
    return ready_noted(m, g, site);
  make_next(m, g);
}

void ready_all(M& m, g_list& waiting, std::uintptr_t site) noexcept { crowd_to_wake(m, site).wake(waiting); }

void crowd_to_wake::wake(g_list& waiting) noexcept {
  if (is_first_) {
    G* const first = waiting.pop_front();
    if (first == nullptr) return;
    is_first_ = false;
    ready(m_, *first, site_);
  }
  if (waiting.empty()) return;
  contention had;
  waiting.for_each([&](G& g) {
    had.add(g);
    g.end_wait();
    trace::readied(m_.sched, g, trace::ready_detail::tail, site_);
  });
  count(m_.p->counters.readies, waiting.size());
  inject(m_.sched, &m_, waiting);
  had.note(m_);
}

void publish_finished(G& g) {
  if (g.is_hosted) return;
  // release: the result is written before the handle can see it; acquire pairs with commit_join.
  std::uintptr_t const before = g.join.exchange(join_finished, acq_rel);
  if (before == join_pending) return;
  if (before == join_detached) {
    g.task.step(g.task, detail::task_step::drop);
    return;
  }
  M* const m = current_m();
  if (m == nullptr) return;  // in a child of fork: the goroutine that waits is the parent's
  enter_runtime(*m);
  ready(*m, *reinterpret_cast<G*>(before));
  leave_runtime(*m);
}

void main_goroutine_ended(M& m, G& main) noexcept {
  Sched& s = m.sched;
  main.is_main = false;  // the record will be used for another goroutine
  if (s.end.main_has_completed()) {
    s.end.wake_run();
  } else {
    os::lock_guard const guard(s.lock);
    s.end.note_goexit_of_main();
  }
}

}  // namespace thrum::rt
