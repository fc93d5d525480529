// Keeping a goroutine on the thread where it is: what the lock of lock_os_thread consists of.
//
// The goroutine is the current one of its M, and only that M's thread calls these functions. They change the G and the
// M, and neither switch nor wake.
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// Locks m's current goroutine to m's thread, if it is not locked yet. It does not move to another thread, so a
// goroutine on M0 remains there. The caller counts the reason (G::lock_depth or G::home_depth).
void lock_where_it_is(M& m) noexcept;
// Undoes that for g, the current goroutine of m, and forgets all reasons.
void unlock_where_it_is(M& m, G& g) noexcept;

// Counts one more call of lock_os_thread. g is locked or at home.
void count_lock(G& g) noexcept;

}  // namespace thrum::rt
