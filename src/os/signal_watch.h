// Signals of the program that are to be told to goroutines, rather than to do what they do by default.
//
// The handler only notes the signal and rings the bell, an eventfd. A goroutine reads that and fetches what was noted.
#pragma once

#include <cstdint>

namespace thrum::rt::os {

inline constexpr int watched_signal_max = 63;

// A new eventfd, which belongs to the caller; or -errno. It rings once the handlers were told of it, which is before the first
// watch_signal and with the same descriptor each time.
[[nodiscard]] int make_signal_bell() noexcept;
void ring_signal_bell_at(int descriptor) noexcept;
void ring_signal_bell() noexcept;

// 0 or the errno: EINVAL for a signal that cannot be caught. Not twice for the same one.
[[nodiscard]] int watch_signal(int number) noexcept;
// What the program had before is in force again, unless the program has put another action over ours. A signal that was noted and not
// fetched is forgotten.
void unwatch_signal(int number) noexcept;

// Those that came since the last call, as bits.
[[nodiscard]] std::uint64_t take_noted_signals() noexcept;

}  // namespace thrum::rt::os
