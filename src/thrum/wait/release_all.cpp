#include "wait/release_all.h"

#include "base/heuristics.h"
#include "os/chaos.h"
#include "sched/park.h"

namespace thrum::rt {
namespace {

// Under the bucket's lock: `waiter` has left its queue. nullptr: it has given up meanwhile. Returns the goroutine that
// has to be woken, if there is one.
G* let_go(sudog* waiter) noexcept {
  if (waiter == nullptr) return nullptr;
  if (!waiter->still_runs) return waiter->g;
  waiter->handed_over = true;
  return nullptr;
}

void let_go(sudog* waiter, g_list& released) noexcept {
  if (G* const g = let_go(waiter)) released.push_back(*g);
}

// Releases the bucket's lock now and then, so that other threads do not spin for long.
[[gnu::noinline]] void release_many(M& m, wait_bucket& bucket, void const* address, sudog* first,
                                    std::uintptr_t site) noexcept {
  crowd_to_wake crowd(m, site);
  g_list released;
  let_go(first, released);
  detached_queue waiters;
  bucket.detach(address, waiters);
  for (bool more = true; more;) {
    for (std::uint32_t left = woken_at_once; left > 0 && !waiters.empty(); --left) let_go(waiters.pop(), released);
    more = !waiters.empty();
    bucket.release();
    os::chaos_point("sync.released");
    crowd.wake(released);
    if (more) bucket.acquire();
  }
}

}  // namespace

// Usually one goroutine waits, and it needs no queue of its own.
void release_all(M& m, wait_bucket& bucket, void const* address, std::uintptr_t site) noexcept {
  bool more = false;
  sudog* const first = bucket.dequeue(address, more);
  if (more) return release_many(m, bucket, address, first, site);
  G* const g = let_go(first);
  bucket.release();
  os::chaos_point("sync.released");
  if (g != nullptr) ready(m, *g, site);
}

}  // namespace thrum::rt
