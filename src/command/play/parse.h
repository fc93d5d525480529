// Makes a scenario of its text (docs/playground.md has the grammar).
//
// Time and memory are proportional to the text, which is bounded. The parser calls itself once for each block in a
// block, which is bounded as well (scenario.h).
#pragma once

#include "command/play/scenario.h"

#include <string_view>

namespace thrum::command {

// Throws scenario_error at the first mistake.
[[nodiscard]] scenario parse_scenario(std::string_view text);

}  // namespace thrum::command
