#pragma once

#include <cstddef>

namespace thrum::rt {

// The smallest multiple of `unit` that is not smaller than `bytes`.
[[nodiscard]] constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) noexcept {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace thrum::rt
