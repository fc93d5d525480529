// Choosing the next goroutine from the P's own run queue, and beginning its run. Every switch does both, so they are
// inline.
#pragma once

#include "base/ablation.h"
#include "core/sched.h"
#include "core/trace.h"
#include "sched/queues.h"
#include "sched/runnable.h"
#include "sched/search_result.h"

#include <cstdint>

namespace thrum::rt {

// Takes from runnext, then from the run queue.
[[nodiscard, gnu::always_inline]] inline search_result take_local(P& p) noexcept {
  while (entry const next = p.queue.take_next()) {
    if (G* const g = take_over(p, next)) return {g, true};
  }
  while (entry const e = p.queue.pop()) {
    if (applies(heuristic::queue_prefetch)) p.queue.prefetch();
    if (G* const g = take_over(p, e)) return {g, false};
  }
  return {};
}

// The same for a goroutine that leaves and looks for its successor itself. It finds nothing in these cases, which are
// left to find_runnable: a bit of P::attention is set, a resident of the M is runnable, it is the turn of the global
// queue, or it is time to look at the timers.
//
// Two goroutines that keep readying each other never end their slice, so the tick does not move. Therefore after every
// 61 runs of any kind the P looks at its timers and at the goroutines behind runnext. If these runs are long, sysmon
// makes the P look when a timer is due.
[[nodiscard, gnu::always_inline]] inline search_result pick_local(M const& m) noexcept {
  P& p = *m.p;
  if (p.attention.load(relaxed) != 0 || m.residents.any_runnable()) return {};
  if (p.ticks_to_global == 0 && p.sched.global_size.load(relaxed) != 0) return {};
  if (p.runs_to_look.load(relaxed) == 0) [[unlikely]] {
    if (p.timers.any()) return {};
    let_others_pass_runnext(p);
  }
  return take_local(p);
}

// relaxed: the 0 that sysmon writes there is a hint
[[gnu::always_inline]] inline void count_down(atomic<std::uint32_t>& runs_to_look) noexcept {
  if (std::uint32_t const left = runs_to_look.load(relaxed); left != 0) runs_to_look.store(left - 1, relaxed);
}

// Where a goroutine comes from that begins to run: the M has searched for it on g0, or the goroutine before has chosen
// it when it left.
enum class chosen_by : std::uint8_t { search, goroutine_before };

// Marks next.g as the goroutine that runs on m.
[[gnu::always_inline]] inline void begin_run(M& m, search_result next, chosen_by who) noexcept {
  G& g = *next.g;
  auto const before = g.status.load(relaxed);  // a claimed goroutine is already `running`
  if (before != g_status::running) g.transition(before, g_status::running);
  P& p = *m.p;
  if (!next.inherits_slice) p.tick();
  count_down(p.runs_to_look);
  m.current = &g;
  m.current_was_handed = next.inherits_slice;
  auto const how = next.inherits_slice ? trace::start_detail::inherits_slice : trace::start_detail::with_slice;
  if (who == chosen_by::search) {
    trace::started(m, g, how);
  } else {
    trace::started_at_once(m, g, how);
  }
}

}  // namespace thrum::rt
