#include "os/spin_lock.h"

#include "base/platform.h"
#include "os/short_wait.h"

#include <algorithm>

namespace thrum::rt::os {
namespace {

// CPU pauses between two loads of the lock. They are doubled up to some microseconds. A holder that takes longer is
// probably not running on a CPU, so the waiter then yields.
constexpr int pauses_first = 4;
constexpr int pauses_max = 128;

}  // namespace

THRUM_OPAQUE void spin_lock::acquire_slow() noexcept {
  int pauses = pauses_first;
  short_wait wait;
  do {
    // Only loads while the lock is held, because an exchange would take the cache line from the holder.
    while (held_.load(relaxed) != 0) {
      for (int i = 0; i < pauses; ++i) cpu_relax();
      if (pauses == pauses_max) wait.pause();
      pauses = std::min(pauses * 2, pauses_max);
    }
  } while (held_.exchange(1, thrum::rt::acquire) != 0);  // pairs with release()
}

}  // namespace thrum::rt::os
