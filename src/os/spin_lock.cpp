#include "os/spin_lock.h"

#include "base/platform.h"
#include "os/short_wait.h"

#include <algorithm>

namespace thrum::rt::os {
namespace {

// Pauses between two looks: doubled up to some microseconds, by when the holder must be off its CPU.
constexpr int pauses_first = 4;
constexpr int pauses_max = 128;

}  // namespace

THRUM_OPAQUE void spin_lock::acquire_slow() noexcept {
  int pauses = pauses_first;
  short_wait wait;
  do {
    while (held_.load(relaxed) != 0) {  // only look while it is held: an exchange would take the line from the holder
      for (int i = 0; i < pauses; ++i) cpu_relax();
      if (pauses == pauses_max) wait.pause();
      pauses = std::min(pauses * 2, pauses_max);
    }
  } while (held_.exchange(1, thrum::rt::acquire) != 0);  // pairs with release()
}

}  // namespace thrum::rt::os
