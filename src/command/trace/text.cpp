#include "command/trace/text.h"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>

namespace thrum::command {
namespace {

constexpr char const* replacement = "\xef\xbf\xbd";  // U+FFFD

bool continues(std::string_view bytes, std::size_t at) {
  return at < bytes.size() && (static_cast<unsigned char>(bytes[at]) & 0xc0U) == 0x80;
}

// The length of the character that begins there, or 0 if no valid one does.
std::size_t bytes_of_character(std::string_view bytes, std::size_t at) {
  auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[at + i]); };
  unsigned char const first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  std::size_t const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!continues(bytes, at + i)) return 0;
  }
  unsigned char const second = byte(1);
  bool const is_overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  bool const is_surrogate = first == 0xed && second > 0x9f;
  bool const is_beyond = first == 0xf4 && second > 0x8f;
  bool const is_control = first == 0xc2 && second < 0xa0;
  // XML does not allow U+FFFE and U+FFFF.
  bool const is_no_character = first == 0xef && second == 0xbf && byte(2) > 0xbd;
  return is_overlong || is_surrogate || is_beyond || is_control || is_no_character ? 0 : length;
}

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; }));
}

// The place behind the first `columns` characters.
std::size_t end_of_columns(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  for (; columns > 0 && at < text.size(); --columns) {
    ++at;
    while (continues(text, at)) ++at;
  }
  return at;
}

}  // namespace

std::string text(char const* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  std::va_list again;
  va_copy(again, arguments);
  int const length = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  std::string result(static_cast<std::size_t>(std::max(length, 0)), '\0');
  std::vsnprintf(result.data(), result.size() + 1, format, again);
  va_end(again);
  return result;
}

std::string hex(std::uint64_t number) { return text("0x%llx", static_cast<unsigned long long>(number)); }

std::string duration(double ns) {
  struct unit {
    double ns;
    char const* name;
  };
  static constexpr std::array units{unit{1e9, "s"}, unit{1e6, "ms"}, unit{1e3, "us"}};
  for (unit const& each : units) {
    // From 999.5 on the smaller unit would be printed as 1000.
    if (ns < each.ns * 0.9995) continue;
    double const value = ns / each.ns;
    return text("%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, each.name);
  }
  return text("%.0f ns", ns);
}

std::string percent(double share) { return text("%.1f %%", share * 100); }

std::string clean_text(std::string_view bytes, std::size_t bytes_max) {
  std::string result;
  std::size_t at = 0;
  bytes = bytes.substr(0, bytes_max);
  while (at < bytes.size()) {
    std::size_t const length = bytes_of_character(bytes, at);
    if (length == 0) {
      result += replacement;
      ++at;
      while (continues(bytes, at)) ++at;
    } else {
      result += bytes.substr(at, length);
      at += length;
    }
  }
  return result;
}

std::string fitted(std::string_view text, std::size_t columns) {
  std::size_t const length = columns_of(text);
  if (length <= columns) return std::string(text) + std::string(columns - length, ' ');
  if (columns < 4) return std::string(text.substr(0, end_of_columns(text, columns)));
  std::size_t const head = (columns - 3) / 2;
  std::size_t const tail = columns - 3 - head;
  return std::string(text.substr(0, end_of_columns(text, head))) + "..." +
         std::string(text.substr(end_of_columns(text, length - tail)));
}

}  // namespace thrum::command
