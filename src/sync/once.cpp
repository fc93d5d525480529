#include "sync/wait.h"
#include <thrum/once.h>

namespace thrum {

using namespace rt;

bool once::begin() {
  std::uint32_t seen = fresh;
  // acquire on failure pairs with finish(): a finished function's effects are visible
  if (state_.compare_exchange(seen, running, detail::acquire, detail::acquire)) return true;
  if (seen == finished) return false;
  M& m = enter_to_wait("once::call");
  wait_if(m, &state_, wait_reason::once, [this] {
    std::uint32_t now = running;
    return state_.compare_exchange(now, waited_for, acquire, acquire) || now == waited_for;
  });
  return false;
}

void once::finish() noexcept {
  std::uint32_t seen = running;
  // release pairs with call()'s acquire
  if (state_.compare_exchange(seen, finished, detail::release, detail::relaxed)) return;
  M* const found = callers_m();
  if (found == nullptr) {  // no run is alive: that of those who waited is over
    state_.store(finished, release);
    return;
  }
  M& m = *found;
  enter(m);
  wait_bucket& bucket = m.sched.waiters.bucket_of(&state_);
  bucket.acquire();
  state_.store(finished, release);
  release_all(m, bucket, &state_);  // the once may be gone from here on
  leave(m);
}

}  // namespace thrum
