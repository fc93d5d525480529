#include "base/check.h"
#include "sync/misuse.h"
#include "sync/stamp.h"
#include "sync/wait.h"
#include <thrum/latch.h>

namespace thrum {

using namespace rt;

void latch::refuse(char const* what, std::ptrdiff_t n) noexcept {
  misuse("%s(%lld): the argument is out of range", what, static_cast<long long>(n));
}

// If `waited_for` is set, the count falls to zero under the bucket's lock, and the waiters leave there (T14).
[[gnu::noinline]] void latch::count_down_slow(std::ptrdiff_t n) noexcept {
  M* found = nullptr;
  for (run_stamp<word> seen(state_, waited_for); found == nullptr;) {
    if (n < 0 || n > count_of(seen.now())) refuse("latch::count_down", n);
    word const next = seen.now() - one * static_cast<word>(n);
    if (next != waited_for) {
      if (seen.change_to(next)) return;
    } else if ((found = enter_to_wake(seen.epoch())) == nullptr) {
      seen.look_again();
    }
  }
  M& m = *found;
  wait_bucket& bucket = m.sched.waiters.bucket_of(&state_);
  bucket.acquire();
  if (count_of(state_.exchange(0, acq_rel)) != n) refuse("latch::count_down", n);  // as in count_down
  release_all(m, bucket, &state_, site_of_caller());                               // the latch may be gone from here on
  leave_runtime(m);
}

void latch::wait_slow() const {
  M& m = enter_to_wait("latch::wait");
  std::uint32_t const epoch = m.sched.epoch;
  wait_if(m, &state_, wait_reason::latch, [&] {
    run_stamp<word> seen(state_, waited_for, epoch);  // its acquire pairs with count_down's release
    while (count_of(seen.now()) != 0) {
      if (seen.change_to(seen.now() | waited_for)) return true;
    }
    return false;
  });
}

}  // namespace thrum
