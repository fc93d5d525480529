#include "base/check.h"
#include "sync/stamp.h"
#include "sync/wait.h"
#include <thrum/latch.h>

namespace thrum {

using namespace rt;

void latch::refuse(char const* what, std::ptrdiff_t n) noexcept {
  fatal("%s(%lld) takes the count out of its range", what, static_cast<long long>(n));
}

// With `waited_for` set the count falls to zero under the bucket's lock, and the waiters leave there (T14).
void latch::count_down_slow(std::ptrdiff_t n) noexcept {
  std::uint32_t const epoch = live_epoch();
  word seen = state_.load(relaxed);
  for (;;) {
    word const now = unstamped(seen, waited_for, epoch);
    if (n < 0 || n > count_of(now)) refuse("latch::count_down", n);
    word const next = now - one * static_cast<word>(n);
    if (next == waited_for) break;
    // as in count_down
    if (state_.compare_exchange_weak(seen, stamped(next, waited_for, epoch), acq_rel, relaxed)) return;
  }
  M* const found = enter_to_wake(epoch);
  if (found == nullptr) return count_down_slow(n);
  M& m = *found;
  wait_bucket& bucket = m.sched.waiters.bucket_of(&state_);
  bucket.acquire();
  if (count_of(state_.exchange(0, acq_rel)) != n) refuse("latch::count_down", n);  // as in count_down
  release_all(m, bucket, &state_);                                                 // the latch may be gone from here on
  leave(m);
}

void latch::wait_slow() const {
  M& m = enter_to_wait("latch::wait");
  std::uint32_t const epoch = m.sched.epoch;
  wait_if(m, &state_, wait_reason::latch, [&] {
    word seen = state_.load(acquire);  // pairs with count_down's release
    while (count_of(seen) != 0) {
      word const next = stamped(unstamped(seen, waited_for, epoch) | waited_for, waited_for, epoch);
      if (state_.compare_exchange_weak(seen, next, acquire, acquire)) return true;
    }
    return false;
  });
}

}  // namespace thrum
