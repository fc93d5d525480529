// How many goroutines are in which state at this moment (TR-02).
#pragma once

#include "core/sched.h"

#include <cstdint>

namespace thrum::rt {

struct gauges {
  std::uint64_t running = 0;
  std::uint64_t runnable = 0;
  std::uint64_t in_calls = 0;
  std::uint64_t waiting = 0;
};

// Called inside the runtime on `caller`, or on a thread that is no M (nullptr) while the run waits for it. Stops no
// goroutine, so the figures are exact only for goroutines that stay as they are meanwhile. A million goroutines take
// some milliseconds.
[[nodiscard]] gauges count_goroutines(Sched& s, M const* caller) noexcept;

}  // namespace thrum::rt
