#include "os/lock.h"

#include "base/ablation.h"
#include "base/heuristics.h"
#include "os/futex.h"

#include <sched.h>

namespace thrum::rt::os {
namespace {

constinit atomic<int> spins_allowed{-1};  // -1: not determined

// Returns 0 if there is only one CPU, because the holder cannot run while a waiter spins. It is determined once. It
// does not use libc's count of CPUs, which reads files, and has no fault injection, because the result affects only
// speed. The call fails if the mask does not fit cpu_set_t, and then there are more than 1024 CPUs.
int find_spins_allowed() noexcept {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  int const spins = ::sched_getaffinity(0, sizeof mask, &mask) != 0 || CPU_COUNT(&mask) > 1 ? lock_spins_max : 0;
  spins_allowed.store(spins, relaxed);  // relaxed: every thread finds about the same value
  return spins;
}

}  // namespace

THRUM_OPAQUE void lock::acquire_slow() noexcept {
  int spins = spins_allowed.load(relaxed);
  if (spins < 0) spins = find_spins_allowed();
  if (!applies(heuristic::lock_spins)) spins = 0;
  for (; spins > 0; --spins) {
    // Only loads while the lock is held, because a compare-and-swap in every round would take the cache line from the
    // holder.
    if (word_.load(relaxed) == free && take()) return;
    cpu_relax();
  }
  // acquire: pairs with release()'s exchange. The waiter stores 2 even if no other thread sleeps (invariant 1).
  while (word_.exchange(held_with_sleepers, thrum::rt::acquire) != free) {
    futex_wait(word_, held_with_sleepers);
  }
}

void lock::wake_one() noexcept { futex_wake(word_, 1); }

#if THRUM_DEBUG_CHECKS
// Identifies the thread by the address of a thread-local, which is cheaper than its thread id. Opaque, because a lock
// may be taken before a stack switch and released after it, and the compiler must not keep the address across the
// switch.
THRUM_OPAQUE void const* lock::this_thread() noexcept {
  static thread_local char mark __attribute__((tls_model("initial-exec"))) = 0;
  return &mark;
}
#endif

}  // namespace thrum::rt::os
