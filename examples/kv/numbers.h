// Numbers as Redis writes them: no blanks, no plus sign, no leading zeros.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kv {

[[nodiscard]] inline std::optional<std::int64_t> parse_integer(std::string_view text) noexcept {
  std::int64_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (text.size() > 1 && (text[0] == '0' || (text[0] == '-' && text[1] == '0'))) return std::nullopt;
  return value;
}

[[nodiscard]] inline std::optional<double> parse_float(std::string_view text) noexcept {
  double value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace kv
