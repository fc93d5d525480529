// What `thrum top` does, without the parsing of its command line.
#pragma once

#include "command/exit_codes.h"

#include <iosfwd>
#include <string>

namespace thrum::command {

struct top_options {
  std::string target{};
  double seconds = 1;  // between two looks
  bool once = false;   // prints one look as text and ends
};

[[nodiscard]] int run_top(top_options const& options, std::ostream& out);

}  // namespace thrum::command
