// The order in which the runtime's locks may be taken, checked in debug builds.
//
// A thread may take a lock only if its rank is higher than the ranks of all locks that the thread holds. That makes a
// cycle, and so a deadlock, impossible.
//
// The check keeps the held ranks in a small array per thread. A lock may be taken before a stack switch and released
// after it by the goroutine that the thread switched to, because both happen on one thread.
#pragma once

#include "base/platform.h"

#include <cstdint>

namespace thrum::rt {

enum class lock_rank : std::uint8_t {
  foreign,       // the seats of foreign threads
  safe_point,    // held while a function runs on every P or the world is stopped; other locks are taken under it
  timer_record,  // one timer: its setting, and the moment in which it fires
  channel,       // one channel; a select takes several, in the order of their addresses
  descriptor,    // the goroutines that wait for a descriptor by its number (src/posix)
  sema_bucket,   // wait queues hashed by address
  timer_heap,    // a P's timers
  sched,         // the global queue, idle Ms and Ps
  free_lists,    // global caches of dead Gs and sudogs
  stack_pool,    // stack arenas and the global stack cache
  leaf,          // any lock under which no other lock is taken
};

#if THRUM_DEBUG_CHECKS
void rank_acquired(lock_rank rank) noexcept;
void rank_released(lock_rank rank) noexcept;
int ranks_held() noexcept;
#else
inline void rank_acquired(lock_rank) noexcept {}
inline void rank_released(lock_rank) noexcept {}
inline int ranks_held() noexcept { return 0; }
#endif

}  // namespace thrum::rt
