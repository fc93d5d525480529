#include "base/check.h"
#include "sync/stamp.h"
#include "sync/wait.h"
#include <thrum/barrier.h>

namespace thrum::detail {

using namespace rt;

void barrier_core::refuse(char const* what, std::ptrdiff_t n) noexcept {
  fatal("%s(%lld) takes the count out of its range", what, static_cast<long long>(n));
}

// With `waited_for` set the next phase begins under the bucket's lock, and the waiters leave there (T14). All have arrived
// and nobody may do so again before: only waiters change the state meanwhile, and they do it under the lock.
void barrier_core::begin_next_phase_slow() noexcept {
  std::uint32_t const epoch = live_epoch();
  word seen = state_.load(rt::relaxed);
  if ((unstamped(seen, waited_for, epoch) & waited_for) == 0) {  // they waited in a run that is over
    // as in begin_next_phase
    if (state_.compare_exchange(seen, next_phase(seen), rt::release, rt::relaxed)) return;
  }
  M* const found = enter_to_wake(epoch);
  if (found == nullptr) return begin_next_phase_slow();
  M& m = *found;
  wait_bucket& bucket = m.sched.waiters.bucket_of(&state_);
  bucket.acquire();
  // release pairs with wait()'s acquire
  state_.store(next_phase(state_.load(rt::relaxed)), rt::release);
  release_all(m, bucket, &state_);  // the barrier may be gone from here on
  leave(m);
}

void barrier_core::wait_slow(std::uint64_t phase) const {
  M& m = enter_to_wait("barrier::wait");
  std::uint32_t const epoch = m.sched.epoch;
  wait_if(m, &state_, wait_reason::barrier, [&] {
    word seen = state_.load(rt::acquire);  // pairs with begin_next_phase
    while (phase_of(seen) == phase) {
      word const next = stamped(unstamped(seen, waited_for, epoch) | waited_for, waited_for, epoch);
      if (state_.compare_exchange_weak(seen, next, rt::acquire, rt::acquire)) return true;
    }
    return false;
  });
}

}  // namespace thrum::detail
