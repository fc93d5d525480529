// The summary as JSON: docs/tracing.md lists the members. Times are in nanoseconds.
#pragma once

#include "command/trace/summary.h"
#include "command/trace/trace.h"

#include <string>

namespace thrum::command {

[[nodiscard]] std::string as_json(trace const& from, summary const& numbers);

}  // namespace thrum::command
