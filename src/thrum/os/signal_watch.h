// Signals that the program wants delivered to goroutines instead of their usual action.
//
// The handler only notes the signal in a word and writes to an eventfd. A goroutine reads the eventfd and then takes
// the noted signals. No locks: the caller makes sure that one thread at a time watches and unwatches.
#pragma once

#include <cstdint>

namespace thrum::rt::os {

inline constexpr int watched_signal_max = 63;

// Returns a new eventfd, which the caller owns, or -errno. The handlers use it after set_signal_eventfd, which has to
// be called before the first watch_signal and always with the same descriptor.
[[nodiscard]] int make_signal_eventfd() noexcept;
void set_signal_eventfd(int descriptor) noexcept;
void notify_signal_goroutine() noexcept;

// Returns 0 or the errno; EINVAL for a signal that cannot be caught. Must not be called for a signal that is being
// watched.
[[nodiscard]] int watch_signal(int number) noexcept;
// Restores the program's earlier action, unless the program has put another action on top. A signal that was noted and
// not taken is dropped.
void unwatch_signal(int number) noexcept;

// The signals that arrived since the last call, as bits.
[[nodiscard]] std::uint64_t take_noted_signals() noexcept;

}  // namespace thrum::rt::os
