// An address as text.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>

namespace thrum::rt {

[[nodiscard]] inline std::string hexadecimal(std::uintptr_t number) {
  char digits[16];
  auto const end = std::to_chars(digits, digits + sizeof digits, number, 16).ptr;
  return "0x" + std::string(digits, end);
}

}  // namespace thrum::rt
