// How a dump is written: as text or as JSON, and each goroutine by itself or equal stacks together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace thrum::rt {

enum class dump_view : std::uint8_t {
  automatic,  // `each` for up to grouped_above goroutines, otherwise `grouped`
  each,
  grouped,  // equal stacks once, with their number
  leaks,    // only the places where goroutines have waited longest
};
inline constexpr std::size_t grouped_above = 10'000;

struct dump_form {
  dump_view view = dump_view::automatic;
  bool is_json = false;

  friend bool operator==(dump_form, dump_form) = default;
};

// Reads words such as "json", "grouped" or "json leaks": the names of the views, "text" and "json". They are separated
// by spaces or by "+". Returns false, with `form` unchanged, if there is any other word.
[[nodiscard]] bool parse_dump_form(std::string_view words, dump_form& form) noexcept;

// The form of the dumps that a report has: on SIGQUIT, at a deadlock and at a panic. THRUM_DEBUG=dump=... sets it when
// a run starts.
void set_form_of_reports(dump_form form) noexcept;
[[nodiscard]] dump_form form_of_reports() noexcept;

}  // namespace thrum::rt
