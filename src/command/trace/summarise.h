// Computes the summary of a trace.
#pragma once

#include "command/trace/summary.h"
#include "command/trace/trace.h"

#include <cstddef>

namespace thrum::command {

// Of each list, only the first `rows_max` are kept.
[[nodiscard]] summary summarise(trace const& from, std::size_t rows_max);

}  // namespace thrum::command
