// The summary for the terminal.
#pragma once

#include "command/trace/summary.h"
#include "command/trace/trace.h"

#include <string>

namespace thrum::command {

[[nodiscard]] std::string printed(trace const& from, summary const& numbers);

}  // namespace thrum::command
