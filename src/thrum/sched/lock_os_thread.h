// lock_os_thread and unlock_os_thread: locking a goroutine to its thread, for which it may first move to another one.
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// Locks m's current goroutine to its thread once more. Returns the M on which the goroutine is then:
// - A goroutine that main joined in place, and that therefore runs on M0, first moves to another thread, because M0's
//   thread is not thrum's to end.
// - If other goroutines are at home here (sched/home.h), it also moves to another thread.
// - A goroutine that is at home itself stays, for one more reason, among the other residents.
M& lock_to_thread(M& m) noexcept;
// Undoes one lock. One call too many does nothing, because the other reasons that keep the goroutine there
// (G::home_depth) end by themselves.
void unlock_from_thread(M& m) noexcept;
// m's current goroutine leaves m by way of the global queue, because m will not run it any further: m is about to end,
// or is M0. Returns the M on which the goroutine is then.
M& leave_m_by_global_queue(M& m) noexcept;

}  // namespace thrum::rt
