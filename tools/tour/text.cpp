#include "text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tour {
namespace {

std::string with_decimals(double value, int decimals, char const* unit) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*f%s", decimals, value, unit);
  return buffer;
}

// One decimal while it still says something.
std::string short_number(double value) {
  return value < 9.95 ? with_decimals(value, 1, "") : with_commas(static_cast<std::uint64_t>(std::llround(value)));
}

}  // namespace

std::string with_commas(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

std::string compact(std::uint64_t number) {
  if (number < 10'000) return std::to_string(number);
  auto scaled = static_cast<double>(number);
  for (char const* unit : {"k", "M", "G", "T"}) {
    scaled /= 1000;
    // The limits are where rounding would need one more column.
    if (scaled < 9.995) return with_decimals(scaled, 2, unit);
    if (scaled < 99.95) return with_decimals(scaled, 1, unit);
    if (scaled < 999.5) return with_decimals(scaled, 0, unit);
  }
  return "lots";
}

std::string milliseconds(std::uint64_t nanoseconds) {
  return short_number(static_cast<double>(nanoseconds) / 1e6) + " ms";
}

std::string mebibytes(std::uint64_t bytes) { return short_number(static_cast<double>(bytes) / (1 << 20)) + " MB"; }

std::size_t columns_of(std::string_view text) {
  // In UTF-8 every byte but the first of a character begins with the bits 10.
  auto const begins_character = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; };
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string pad_left(std::string_view text, std::size_t columns) {
  std::size_t const taken = columns_of(text);
  return std::string(columns > taken ? columns - taken : 0, ' ').append(text);
}

std::string pad_right(std::string_view text, std::size_t columns) {
  std::size_t const taken = columns_of(text);
  return std::string(text).append(columns > taken ? columns - taken : 0, ' ');
}

std::string repeated(std::string_view piece, std::size_t times) {
  std::string all;
  for (; times > 0; --times) all += piece;
  return all;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    std::size_t const end = std::min(text.find(' '), text.size());
    std::string_view const word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!lines.empty() && columns_of(lines.back()) + 1 + columns_of(word) <= columns) {
      lines.back().append(" ").append(word);
    } else {
      lines.emplace_back(word);
    }
  }
  return lines;
}

}  // namespace tour
