// Signals of the program that are to be told to goroutines, rather than to do what they do by default.
//
// The handler only notes the signal and writes to a descriptor; somebody reads that and fetches what was noted.
#pragma once

#include <cstdint>

namespace thrum::rt::os {

inline constexpr int watched_signal_max = 63;

// The descriptor, an eventfd, made at the first call; or -errno.
[[nodiscard]] int signal_bell() noexcept;

// 0 or the errno: EINVAL for a signal that cannot be caught. Not twice for the same one. After signal_bell.
[[nodiscard]] int watch_signal(int number) noexcept;
// What the program had before is in force again, unless somebody has put another action over ours.
void unwatch_signal(int number) noexcept;

// Those that came since the last call, as bits.
[[nodiscard]] std::uint64_t take_noted_signals() noexcept;

}  // namespace thrum::rt::os
