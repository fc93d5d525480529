// The parts of a switch that do not depend on what runs next: noting the commit step, leaving for g0, arriving, and the
// context of a goroutine that has not started. sched/suspend.h has the invariants.
#pragma once

#include "core/current.h"
#include "core/sched.h"

namespace thrum::rt {

// Notes what the side that arrives after the next switch does for g, which leaves.
inline void set_commit(M& m, G& g, commit_step commit, void* argument) noexcept;

// Leaves m's current goroutine for g0, whether m has a P or not. g0 runs commit(m, g, argument). Returns when the
// goroutine runs again, with the M that it is on then. On a G, inside the runtime; the caller has set the G's status.
M& suspend_to_g0(M& m, commit_step commit, void* argument) noexcept;

// Whether sp, the stack pointer of g, lies in the stack of another goroutine. May be called in signal handlers.
[[nodiscard]] bool has_left_its_stack(G const& g, char const* sp) noexcept;
// g is the current goroutine: ends the program with a report if it has left its stack.
void check_stack_pointer(G const& g) noexcept;

// The first call after every switch: runs the pending commit step.
inline M& arrive() noexcept {
  M& m = *current_m();
  if (commit_step const commit = m.commit) {
    m.commit = nullptr;
    commit(m, *m.committed, m.commit_argument);
  }
  return m;
}

// Gives a G that has not started a stack, and a context that begins in goroutine_main. False: there is no memory for a
// stack.
[[nodiscard]] bool bind_stack(P& p, G& g) noexcept;
void bind(G& g, stack& own) noexcept;

// The first function on every goroutine stack (sched/goroutine.cpp). It runs the current goroutine, and then each
// unstarted goroutine that takes the stack over. It leaves for good when there is none.
void goroutine_main();

inline void set_commit(M& m, G& g, commit_step commit, void* argument) noexcept {
  THRUM_DCHECK(m.commit == nullptr);
  m.commit = commit;
  m.committed = &g;
  m.commit_argument = argument;
  // sys/parked_stacks relies on this order: the commit step is pending before the goroutine ceases to be current
  signal_fence();
}

}  // namespace thrum::rt
