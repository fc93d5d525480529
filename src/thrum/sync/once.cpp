#include "sync/stamp.h"
#include "sync/wait.h"
#include <thrum/once.h>

namespace thrum {

using namespace rt;

// `waited_for` carries the number of the run in which goroutines wait (sync/stamp.h). It is set and cleared under the
// bucket's lock, unless that run is over.
bool once::begin() {
  std::uint32_t seen = fresh;
  // acquire on failure pairs with finish(): a finished function's effects are visible
  if (state_.compare_exchange(seen, running, detail::acquire, detail::acquire)) return true;
  if (seen == finished) return false;
  M& m = enter_to_wait("once::call");
  std::uint32_t const epoch = m.sched.epoch;
  wait_if(m, &state_, wait_reason::once, [&] {
    run_stamp<std::uint32_t> now(state_, waited_for, epoch);
    while (now.now() != finished) {
      if (now.change_to(running | waited_for)) return true;
    }
    return false;
  });
  return false;
}

[[gnu::noinline]] void once::finish() noexcept {
  M* found = nullptr;
  for (run_stamp<std::uint32_t> seen(state_, waited_for); found == nullptr;) {
    if (!seen.has(waited_for)) {
      if (seen.change_to(finished)) return;  // its release pairs with call()'s acquire
    } else if ((found = enter_to_wake(seen.epoch())) == nullptr) {
      seen.look_again();
    }
  }
  M& m = *found;
  wait_bucket& bucket = m.sched.waiters.bucket_of(&state_);
  bucket.acquire();
  state_.store(finished, release);                    // as above
  release_all(m, bucket, &state_, site_of_caller());  // the once may be gone from here on
  leave_runtime(m);
}

}  // namespace thrum
