#include "wait/release_all.h"

#include "os/chaos.h"
#include "sched/park.h"

namespace thrum::rt {
namespace {

// Under the bucket's lock: `waiter` has left its queue. nullptr: it has given up meanwhile.
void let_go(sudog* waiter, g_list& released) noexcept {
  if (waiter == nullptr) return;
  if (waiter->still_runs) {
    waiter->handed_over = true;
  } else {
    released.push_back(*waiter->g);
  }
}

// Releases the bucket's lock now and then, so that other threads do not spin for long.
void release_many(wait_bucket& bucket, void const* address, g_list& released, crowd_to_wake& crowd) noexcept {
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
void release_all(M& m, wait_bucket& bucket, void const* address) noexcept {
  crowd_to_wake crowd(m);
  g_list released;
  bool more = false;
  let_go(bucket.dequeue(address, more), released);
  if (more) return release_many(bucket, address, released, crowd);
  bucket.release();
  os::chaos_point("sync.released");
  crowd.wake(released);
}

}  // namespace thrum::rt
