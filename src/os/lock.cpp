#include "os/lock.h"

#include "os/futex.h"

#include <sched.h>

namespace thrum::rt::os {
namespace {

// One to five microseconds in all, as Go's 4 rounds of 30 pauses: longer than most critical
// sections of the runtime, shorter than a sleep and a wake-up.
constexpr int spins_max = 100;
constinit atomic<int> spins_allowed{-1};

// With one CPU the holder cannot run while we spin. Asked once, without libc's counting of CPUs, which reads
// files, and past the fault injection: the answer only tunes. A mask that does not fit cpu_set_t has more
// than 1024 CPUs.
int find_spins_allowed() noexcept {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  int const spins = ::sched_getaffinity(0, sizeof mask, &mask) != 0 || CPU_COUNT(&mask) > 1 ? spins_max : 0;
  spins_allowed.store(spins, relaxed);  // relaxed: every thread finds much the same
  return spins;
}

}  // namespace

THRUM_OPAQUE void lock::acquire_slow() noexcept {
  int spins = spins_allowed.load(relaxed);
  if (spins < 0) spins = find_spins_allowed();
  for (; spins > 0; --spins) {
    // Only look while it is held: a compare-and-exchange in every round would take the line from the holder.
    if (word_.load(relaxed) == free && take()) return;
    cpu_relax();
  }
  // Pairs with release()'s exchange. 2 even if nobody else sleeps: invariant 1.
  while (word_.exchange(held_with_sleepers, thrum::rt::acquire) != free) {
    futex_wait(word_, held_with_sleepers);
  }
}

void lock::wake_one() noexcept { futex_wake(word_, 1); }

#if THRUM_DEBUG_CHECKS
// The address of a thread-local: cheaper than the thread's number. Opaque, since a lock may be taken before a
// switch of stacks and released after it, and the address must not be remembered across.
THRUM_OPAQUE void const* lock::this_thread() noexcept {
  static thread_local char mark __attribute__((tls_model("initial-exec"))) = 0;
  return &mark;
}
#endif

}  // namespace thrum::rt::os
