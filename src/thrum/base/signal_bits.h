// The kernel's form of a set of signals: one bit for each, and bit 0 is signal 1.
#pragma once

#include <cstdint>

namespace thrum::rt {

using signal_bits = std::uint64_t;

[[nodiscard]] constexpr signal_bits bit_of_signal(int signal) noexcept { return signal_bits{1} << (signal - 1); }

}  // namespace thrum::rt
