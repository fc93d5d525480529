#include "base/check.h"
#include "sync/misuse.h"
#include "sync/stamp.h"
#include "sync/wait.h"
#include <thrum/barrier.h>

namespace thrum::detail {

using namespace rt;

void barrier_core::refuse(char const* what, std::ptrdiff_t n) noexcept {
  misuse("%s(%lld): the argument is out of range", what, static_cast<long long>(n));
}

// If `waited_for` is set, the next phase begins under the bucket's lock, and the waiters leave there (T14). All
// participants have arrived, and none may arrive for the next phase before it begins. So only waiters change the state
// meanwhile, and they do so under the lock.
[[gnu::noinline]] void barrier_core::begin_next_phase_slow() noexcept {
  M* found = nullptr;
  for (run_stamp<word> seen(state_, waited_for); found == nullptr;) {
    if (!seen.has(waited_for)) {  // the waiters belong to a run that is over
      if (seen.change_to(next_phase(seen.now()))) return;
    } else if ((found = enter_to_wake(seen.epoch())) == nullptr) {
      seen.look_again();
    }
  }
  M& m = *found;
  wait_bucket& bucket = m.sched.waiters.bucket_of(&state_);
  bucket.acquire();
  // release pairs with wait()'s acquire
  state_.store(next_phase(state_.load(rt::relaxed)), rt::release);
  release_all(m, bucket, &state_, site_of_caller());  // the barrier may be gone from here on
  leave_runtime(m);
}

void barrier_core::wait_slow(std::uint64_t phase) const {
  M& m = enter_to_wait("barrier::wait");
  std::uint32_t const epoch = m.sched.epoch;
  wait_if(m, &state_, wait_reason::barrier, [&] {
    run_stamp<word> seen(state_, waited_for, epoch);  // its acquire pairs with begin_next_phase
    while (phase_of(seen.now()) == phase) {
      if (seen.change_to(seen.now() | waited_for)) return true;
    }
    return false;
  });
}

}  // namespace thrum::detail
