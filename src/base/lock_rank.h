// The order in which the runtime's locks may be taken, checked in debug builds.
//
// A thread may only take a lock of a higher rank than all it holds. That makes a cycle, and so a deadlock, impossible.
// The check is a small per-thread stack of held ranks; a lock taken before a stack switch and released after it by the
// goroutine that arrives is fine, since both happen on one thread.
#pragma once

#include "base/platform.h"

#include <cstdint>

namespace thrum::rt {

enum class lock_rank : std::uint8_t {
  foreign,       // which threads from outside have which seats
  safe_point,    // run a function on every P, or stop the world: whatever is done meanwhile is done under it
  timer_record,  // one timer: its setting, and the moment in which it fires
  channel,       // one channel; a select takes several, in the order of their addresses
  descriptor,    // who waits for a descriptor by its number (src/posix)
  sema_bucket,   // wait queues hashed by address
  timer_heap,    // a P's timers
  sched,         // the global queue, idle Ms and Ps
  free_lists,    // global caches of dead Gs and sudogs
  stack_pool,    // stack arenas and the global stack cache
  leaf,          // anything that takes nothing else
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
