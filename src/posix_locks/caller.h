// Whether the caller of a lock function is a goroutine, and whether it may park.
#pragma once

#include "base/atomic.h"
#include "core/current.h"
#include "posix/here.h"

namespace thrum::posix {

// A child of fork has the goroutine that forked, but no scheduler. There the runtime must not be entered, because
// another thread may have requested the M's attention before the fork. In the child, fork handlers of libraries that
// were loaded earlier run before thrum's. So is_in_child is correct from the first moment of the fork, not only after
// thrum's handler. All relaxed, because the words are written by the thread itself, or while the child has only one
// thread.
extern rt::atomic<rt::M const*> forked_on;  // in the child: the M that forked
extern rt::atomic<int> forks_under_way;
[[nodiscard]] bool is_child_already() noexcept;
[[nodiscard, gnu::always_inline]] inline bool is_in_child() noexcept {
  return rt::current_m() == forked_on.load(rt::relaxed) ||
         (forks_under_way.load(rt::relaxed) != 0 && is_child_already());
}
// Called before and after a fork, by the thread that forks.
void note_fork() noexcept;
void note_fork_in_parent() noexcept;
void note_fork_in_child() noexcept;

// True if the caller is a goroutine that parks when it waits for a lock.
[[nodiscard, gnu::always_inline]] inline bool locks_park() noexcept { return on_goroutine() && !is_in_child(); }

// True if the caller is a goroutine inside an announced call. A wait keeps its thread there, but a mutex with an owner
// belongs to the goroutine all the same (owners.h).
[[nodiscard]] bool in_announced_call() noexcept;

}  // namespace thrum::posix
