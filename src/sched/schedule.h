// One round of the scheduler, on g0: find something to run, run it (S09, S10).
#pragma once

#include "core/sched.h"
#include "sched/queues.h"

namespace thrum::rt {

// What a search found: a G that is now the caller's, and whether it inherits the time slice of its readier.
struct found {
  G* g = nullptr;
  bool inherits_slice = false;
};

// Runnext, then the ring.
[[nodiscard, gnu::always_inline]] inline found take_local(P& p) noexcept {
  while (entry const next = p.queue.take_next()) {
    if (G* const g = take_over(p, next)) return {g, true};
  }
  while (entry const e = p.queue.pop()) {
    p.queue.prefetch();
    if (G* const g = take_over(p, e)) return {g, false};
  }
  return {};
}

// The same for a goroutine that leaves and looks for its successor itself. Nothing when somebody wants the P's attention,
// or somebody comes home, or the global queue or the timers have their turn: those are for find_runnable. Two goroutines that keep readying each
// other never tick: so after every 61 runs, of whatever kind, the P looks up, at its timers and at those behind runnext. If these
// runs are long, sysmon has it look up when a timer is due.
[[nodiscard, gnu::always_inline]] inline found pick_local(M const& m) noexcept {
  P& p = *m.p;
  if (p.attention.load(relaxed) != 0 || m.ready_at_home.load(relaxed) != 0) return {};
  if (p.ticks_to_global == 0 && p.sched.global_size.load(relaxed) != 0) return {};
  if (p.runs_to_look.load(relaxed) == 0) [[unlikely]] {
    if (p.timers.any()) return {};
    let_others_pass_runnext(p);
  }
  return take_local(p);
}

// The ordered search of S10. On g0; blocks until there is something. g == nullptr: the run is over.
[[nodiscard]] found find_runnable(M& m) noexcept;

// The steal part of it: four rounds over all Ps in random order, runnext only in the last.
[[nodiscard]] found steal_work(M& m) noexcept;

// The life of an M with a P, on g0.
void schedule_until_end(M& m) noexcept;

// Runs g on m until somebody switches back to g0, with the commit of whoever that was done.
void execute(M& m, found next) noexcept;

// relaxed: what sysmon writes there is a hint
[[gnu::always_inline]] inline void count_down(atomic<std::uint32_t>& runs_to_look) noexcept {
  if (std::uint32_t const left = runs_to_look.load(relaxed); left != 0) runs_to_look.store(left - 1, relaxed);
}

// Marks g as the one that runs on m from now on.
[[gnu::always_inline]] inline void begin_run(M& m, found next) noexcept {
  G& g = *next.g;
  auto const before = g.status.load(relaxed);  // claimed entries are running already
  if (before != g_status::running) g.transition(before, g_status::running);
  P& p = *m.p;
  if (!next.inherits_slice) p.tick();
  count_down(p.runs_to_look);
  m.current = &g;
  m.current_was_handed = next.inherits_slice;
}

}  // namespace thrum::rt
