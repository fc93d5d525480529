// Time and chance. Both may be called anywhere, signal handlers included; neither allocates.
#pragma once

#include <cstdint>

namespace thrum::rt::os {

// CLOCK_MONOTONIC through the vDSO: some 20 ns, no system call, never goes back, stands still while
// suspended.
[[nodiscard]] std::int64_t monotonic_ns() noexcept;

// A seed for scheduling, not for secrets: getrandom; early in the boot or where it is forbidden, the clock,
// the thread and an address, mixed.
[[nodiscard]] std::uint64_t random_seed() noexcept;

}  // namespace thrum::rt::os
