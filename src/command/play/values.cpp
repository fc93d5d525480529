#include "command/play/values.h"

#include "command/trace/text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace thrum::command {
namespace {

using namespace std::chrono_literals;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool all_digits(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_digit); }

// The number, or `max` + 1 if it is larger than `max`, which is far below what fits.
std::int64_t read(std::string_view digits, std::int64_t max) {
  std::int64_t number = 0;
  for (char const c : digits) number = std::min(number * 10 + (c - '0'), max + 1);
  return number;
}

int bounded(token const& one, std::string_view digits, char const* what, int min, int max) {
  std::int64_t const number = all_digits(digits) ? read(digits, max) : std::int64_t{max} + 1;
  if (one.kind == token_kind::word && number >= min && number <= max) return static_cast<int>(number);
  throw scenario_error(
      one.at, text("expected %s, found %s; write a whole number from %d to %d", what, quoted(one).c_str(), min, max));
}

}  // namespace

int number_in(token const& one, char const* what, int min, int max) { return bounded(one, one.text, what, min, max); }

std::chrono::nanoseconds duration_in(token const& one, char const* what, std::chrono::seconds max) {
  struct unit {
    std::string_view name;
    std::chrono::nanoseconds length;
  };
  constexpr std::array<unit, 4> units{{{"ns", 1ns}, {"us", 1us}, {"ms", 1ms}, {"s", 1s}}};
  auto const end = std::find_if_not(one.text.begin(), one.text.end(), is_digit);
  std::string_view const digits = one.text.substr(0, static_cast<std::size_t>(end - one.text.begin()));
  std::string_view const rest = one.text.substr(digits.size());
  auto const found = std::find_if(units.begin(), units.end(), [&](unit const& each) { return each.name == rest; });
  if (one.kind != token_kind::word || digits.empty() || found == units.end()) {
    throw scenario_error(one.at, text("expected %s, found %s; write a whole number and ns, us, ms or s without a blank "
                                      "between them, such as 5ms",
                                      what, quoted(one).c_str()));
  }
  std::int64_t const most = std::chrono::nanoseconds(max) / found->length;
  std::int64_t const number = read(digits, most);
  if (number == 0 || number > most) {
    throw scenario_error(one.at, text("expected %s, found %s; write more than 0 and at most %lld s", what,
                                      quoted(one).c_str(), static_cast<long long>(max.count())));
  }
  return number * found->length;
}

bool is_count(token const& one) {
  return one.kind == token_kind::word && one.text.starts_with('x') && all_digits(one.text.substr(1));
}

int count_in(token const& one, int min) {
  return bounded(one, one.text.substr(1), "the number of goroutines", min, scenario_goroutines_max);
}

bool is_name(token const& one) {
  if (one.kind != token_kind::word || one.text.size() > scenario_name_bytes_max) return false;
  if (!is_letter(one.text.front()) && one.text.front() != '_') return false;
  return std::all_of(one.text.begin(), one.text.end(),
                     [](char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '-'; });
}

}  // namespace thrum::command
