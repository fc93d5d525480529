// What `thrum trace` does, without the parsing of its command line.
#pragma once

#include "command/exit_codes.h"

#include <cstddef>
#include <iosfwd>
#include <string>

namespace thrum::command {

struct trace_options {
  std::string file{};
  bool json = false;
  bool check = false;
  std::string perfetto{};   // the file to write, or empty
  std::string svg{};        // likewise
  std::string recording{};  // likewise
  std::size_t rows = 10;
};

[[nodiscard]] int run_trace(trace_options const& options, std::ostream& out, std::ostream& errors);

}  // namespace thrum::command
