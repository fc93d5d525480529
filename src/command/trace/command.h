// What `thrum trace` does, without the parsing of its command line.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

namespace thrum::command {

struct trace_options {
  std::string file{};
  bool json = false;
  bool check = false;
  std::string perfetto{};  // the file to write, or empty
  std::string svg{};       // likewise
  std::size_t rows = 10;
};

// The exit codes.
inline constexpr int fine = 0;
inline constexpr int found_faults = 1;  // the file contradicts its format, or is damaged
inline constexpr int cannot_work = 2;   // the file cannot be read, or an output cannot be written

[[nodiscard]] int run_trace(trace_options const& options, std::ostream& out, std::ostream& errors);

}  // namespace thrum::command
