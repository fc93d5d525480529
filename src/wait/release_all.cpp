#include "wait/release_all.h"

#include "os/chaos.h"
#include "sched/park.h"

namespace thrum::rt {

void release_all(M& m, wait_bucket& bucket, void const* address) noexcept {
  detached_queue waiters;
  bucket.detach(address, waiters);
  crowd_to_wake crowd(m);
  for (bool more = true; more;) {
    g_list released;
    for (std::uint32_t left = woken_at_once; left > 0 && !waiters.empty(); --left) {
      sudog* const next = waiters.pop();
      if (next == nullptr) continue;
      if (next->still_runs) {
        next->handed_over = true;
      } else {
        released.push_back(*next->g);
      }
    }
    more = !waiters.empty();
    bucket.release();
    os::chaos_point("sync.released");
    crowd.wake(released);
    if (more) bucket.acquire();
  }
}

}  // namespace thrum::rt
