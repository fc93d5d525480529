// Leaving a goroutine's stack, and arriving on the next one.
//
// A goroutine that parks, yields or ends chooses its successor itself when there is one on its P, and switches straight
// to it; only when there is none, or when the successor needs more than a switch, does it go to g0. What must not happen
// before the old stack is left, the commit step, is run by whoever arrives.
//
// Invariants:
//  1. Between the switch and the commit nobody but the arriver knows the goroutine that left: it is in no queue.
//  2. Every path that continues after a switch calls arrive() first, and reads its M from there: the goroutine may be on
//     another thread now.
//  3. A commit that releases a lock is never delayed by a page fault: with such a commit pending, a goroutine that has no
//     stack yet is started by g0, after the commit (T11).
//  4. M0 runs only the main goroutine (T02): a goroutine on M0 always leaves through g0. So does one that is followed by a
//     goroutine that is locked to another thread; and one that is locked itself does not leave at all (own_thread.h).
#pragma once

#include "core/current.h"
#include "core/sched.h"

namespace thrum::rt {

enum class commit_holds : bool { nothing, lock };

// Leaves m's current goroutine, with commit(m', g, argument) to be run by whoever arrives on the P. Returns when the
// goroutine runs again, with the M it is on now. On a G, inside the runtime; the caller has set the G's status.
M& suspend(M& m, commit_step commit, void* argument, commit_holds holds) noexcept;

// As above on an M without a P: always to g0, which finds none either.
M& suspend_without_p(M& m, commit_step commit, void* argument) noexcept;

// As above for a goroutine that ended; its stack belongs to the commit.
[[noreturn]] void suspend_for_good(M& m, G* next, commit_step commit, void* argument) noexcept;

// Whether sp, where g stands, lies in the stack of another goroutine. Also for signal handlers.
[[nodiscard]] bool has_left_its_stack(G const& g, char const* sp) noexcept;
// The current goroutine is g: ends the program with a report if it has left its stack.
void check_stack_pointer(G const& g) noexcept;

// First thing after every switch: runs the pending commit.
inline M& arrive() noexcept {
  M& m = *current_m();
  if (commit_step const commit = m.commit) {
    m.commit = nullptr;
    commit(m, *m.committed, m.commit_argument);
  }
  return m;
}

// Gives a G that has not started a stack and a context that begins in goroutine_main. False: no stack can be had now.
[[nodiscard]] bool bind_stack(P& p, G& g) noexcept;
void bind(G& g, stack& own) noexcept;

}  // namespace thrum::rt
