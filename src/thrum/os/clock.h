// The monotonic clock and a random seed. Both functions may be called anywhere, also in signal handlers. Neither
// allocates or takes a lock.
#pragma once

#include <cstdint>

namespace thrum::rt::os {

// CLOCK_MONOTONIC through the vDSO, which takes some 20 ns and no system call. It never goes back, and it stands still
// while the machine is suspended.
[[nodiscard]] std::int64_t monotonic_ns() noexcept;

// A seed for scheduling, not for secrets. It comes from getrandom. If that has no random numbers early in the boot, or
// is forbidden, the seed is mixed from the clock, the thread id and an address.
[[nodiscard]] std::uint64_t random_seed() noexcept;

}  // namespace thrum::rt::os
