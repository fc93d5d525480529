// What `thrum trace` does, without the parsing of its command line.
#pragma once

#include "command/exit_codes.h"

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>

namespace thrum::command {

struct trace_options {
  std::string file{};
  bool json = false;
  bool check = false;
  std::string perfetto{};   // the file to write, or empty
  std::string svg{};        // likewise
  std::string recording{};  // likewise
  std::string page{};       // likewise
  // Makes the page with a recording in it. The page is part of the command and not of the reader of traces.
  std::string (*page_with)(std::string_view recording) = nullptr;
  std::size_t rows = 10;
};

[[nodiscard]] int run_trace(trace_options const& options, std::ostream& out, std::ostream& errors);

}  // namespace thrum::command
