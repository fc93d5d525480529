#include "byte_range.h"

#include "request.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace http {

namespace {

std::optional<std::uint64_t> number(std::string_view text) noexcept {
  std::uint64_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

byte_range range_in(std::string_view header_value, std::uint64_t size) noexcept {
  constexpr std::string_view unit = "bytes=";
  if (!same_name(header_value.substr(0, unit.size()), unit)) return {};
  std::string_view const range = header_value.substr(unit.size());
  std::size_t const dash = range.find('-');
  if (dash == std::string_view::npos) return {};
  std::string_view const before = range.substr(0, dash);
  std::string_view const behind = range.substr(dash + 1);
  auto const first = number(before);
  auto const last = number(behind);
  byte_range const unsatisfiable{byte_range::kind::unsatisfiable, 0, 0};
  if (before.empty()) {  // the last n bytes
    if (!last) return {};
    std::uint64_t const bytes = std::min(*last, size);
    return bytes == 0 ? unsatisfiable : byte_range{byte_range::kind::part, size - bytes, bytes};
  }
  if (!first || (!last && !behind.empty()) || (last && *last < *first)) return {};
  if (*first >= size) return unsatisfiable;
  return {byte_range::kind::part, *first, last ? std::min(*last - *first, size - *first - 1) + 1 : size - *first};
}

}  // namespace http
