// Who locks: whether it is a goroutine, and whether that may wait without its thread.
#pragma once

#include "base/atomic.h"
#include "core/current.h"
#include "posix/here.h"

namespace thrum::posix {

// A child of fork has the goroutine that forked but no scheduler. Nothing of the runtime is entered there: somebody may have asked for the M's
// attention before the fork. Handlers of libraries that came before us run before ours in the child, so it is asked for from the fork's first moment.
// All relaxed: written by the thread itself, or when the child had but one.
extern rt::atomic<rt::M const*> forked_on;  // the M, in the child
extern rt::atomic<int> forks_under_way;
[[nodiscard]] bool is_child_already() noexcept;
[[nodiscard, gnu::always_inline]] inline bool is_in_child() noexcept {
  return rt::current_m() == forked_on.load(rt::relaxed) ||
         (forks_under_way.load(rt::relaxed) != 0 && is_child_already());
}
// Around a fork, by whoever forks.
void note_fork() noexcept;
void note_fork_in_parent() noexcept;
void note_fork_in_child() noexcept;

// A goroutine whose locks park.
[[nodiscard, gnu::always_inline]] inline bool locks_park() noexcept { return on_goroutine() && !is_in_child(); }

// A goroutine inside a call that was announced: a wait keeps its thread, but a mutex that has an owner is the goroutine's all the same.
[[nodiscard]] bool in_announced_call() noexcept;

}  // namespace thrum::posix
