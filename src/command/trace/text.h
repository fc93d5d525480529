// Texts for people: durations, addresses, tables of the terminal, and what comes from a file and must not disturb them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace thrum::command {

// printf into a string.
[[nodiscard, gnu::format(printf, 1, 2)]] std::string text(char const* format, ...);

[[nodiscard]] std::string hex(std::uint64_t number);
// "850 ns", "1.25 us", "12.5 ms", "3.20 s"
[[nodiscard]] std::string duration(double ns);
[[nodiscard]] std::string percent(double share);

// Valid UTF-8 without control characters. Everything else becomes U+FFFD. At most `bytes_max` bytes are used.
[[nodiscard]] std::string clean_text(std::string_view bytes, std::size_t bytes_max = 2048);

// The text in at most `columns` columns of a terminal, with "..." in place of its middle if it is longer, and with
// spaces behind it if it is shorter.
[[nodiscard]] std::string fitted(std::string_view text, std::size_t columns);

}  // namespace thrum::command
