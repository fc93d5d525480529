// Keeping a goroutine on the thread where it is: what the lock of lock_os_thread consists of.
//
// The goroutine is the current one of its M, and only that M's thread calls these functions. They change the G and the
// M, and neither switch nor wake.
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// Locks m's current goroutine to m's thread once more. It does not move to another thread, so a goroutine on M0 remains
// there. unlock_where_it_is undoes one lock.
void lock_where_it_is(M& m) noexcept;
void unlock_where_it_is(M& m) noexcept;

// Counts one more lock of g, which is locked or at home.
void lock_once_more(G& g) noexcept;
// Undoes all locks of g, the current goroutine of m.
void undo_all_thread_locks(M& m, G& g) noexcept;

}  // namespace thrum::rt
