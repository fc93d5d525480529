#include "os/spin_lock.h"

#include "base/heuristics.h"
#include "base/platform.h"
#include "os/short_wait.h"

#include <algorithm>

namespace thrum::rt::os {

// After the longest pause between two loads, the holder is probably not running on a CPU, so the waiter yields.
THRUM_OPAQUE void spin_lock::acquire_slow() noexcept {
  int pauses = lock_pauses_first;
  short_wait wait;
  do {
    // Only loads while the lock is held, because an exchange would take the cache line from the holder.
    while (held_.load(relaxed) != 0) {
      for (int i = 0; i < pauses; ++i) cpu_relax();
      if (pauses == lock_pauses_max) wait.pause();
      pauses = std::min(pauses * 2, lock_pauses_max);
    }
  } while (held_.exchange(1, thrum::rt::acquire) != 0);  // pairs with release()
}

}  // namespace thrum::rt::os
