#include "os/short_wait.h"

#include "base/atomic.h"
#include "os/futex.h"

#include <cstdint>

#include <sched.h>

namespace thrum::rt::os {

void short_wait::pause() noexcept {
  if (yields_left_ > 0) {
    --yields_left_;
    ::sched_yield();
    return;
  }
  constexpr std::int64_t nap_ns = 50'000;
  atomic<std::uint32_t> never_woken{0};
  static_cast<void>(futex_wait(never_woken, 0, nap_ns));
}

}  // namespace thrum::rt::os
