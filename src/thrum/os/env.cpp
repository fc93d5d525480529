#include "os/env.h"

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace thrum::rt::os {
namespace {

bool parse_whole(std::string_view text, std::int64_t& value) noexcept {
  std::int64_t parsed = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error != std::errc{} || end != text.data() + text.size()) return false;
  value = parsed;
  return true;
}

}  // namespace

char const* environment(char const* name) noexcept { return ::secure_getenv(name); }

std::string_view debug_word(char const* list, char const* key) noexcept {
  if (list == nullptr || key == nullptr || *key == '\0') return {};
  std::string_view const wanted = key;
  // Searches from the end, because the last entry of a key counts.
  for (std::string_view rest = list; !rest.empty();) {
    std::size_t const comma = rest.rfind(',');
    std::string_view const entry = comma == std::string_view::npos ? rest : rest.substr(comma + 1);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(0, comma);
    std::size_t const equals = entry.find('=');
    if (equals != std::string_view::npos && entry.substr(0, equals) == wanted) return entry.substr(equals + 1);
  }
  return {};
}

bool debug_setting(char const* list, char const* key, std::int64_t& value) noexcept {
  return parse_whole(debug_word(list, key), value);
}

}  // namespace thrum::rt::os
