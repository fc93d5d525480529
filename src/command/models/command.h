// What `thrum bench models` does, without the parsing of its command line.
#pragma once

#include "command/exit_codes.h"

#include <iosfwd>
#include <string>

namespace thrum::command {

struct models_options {
  std::string what{};  // "models", the only benchmark of the command
  std::string svg{};
  bool json = false;
  bool is_short = false;
};
[[nodiscard]] int run_models(models_options const& options, std::ostream& out, std::ostream& errors);

}  // namespace thrum::command
