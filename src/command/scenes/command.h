// What `thrum scenes` does, without the parsing of its command line.
#pragma once

#include "command/exit_codes.h"

#include <iosfwd>
#include <string>

namespace thrum::command {

struct scenes_options {
  std::string page{};  // the file for the page; empty: there is none
  std::string json{};  // the file for the recording; "-": standard output; empty: there is none
};
// Without a file for either, writes the page to thrum-scenes.html.
[[nodiscard]] int run_scenes(scenes_options const& options, std::ostream& out, std::ostream& errors);

}  // namespace thrum::command
