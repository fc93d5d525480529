// How many goroutines do what at this moment (TR-02).
#pragma once

#include "core/m.h"

#include <cstdint>

namespace thrum::rt {

struct gauges {
  std::uint64_t running = 0;
  std::uint64_t runnable = 0;
  std::uint64_t in_calls = 0;
  std::uint64_t waiting = 0;
};

// On m, inside the runtime. Nobody is stopped for it, so the figures are exact for goroutines that stay as they are meanwhile.
// A million of them take some milliseconds.
[[nodiscard]] gauges count_goroutines(M& m) noexcept;

}  // namespace thrum::rt
