// A picture of the trace: a lane for each P, in which the time slices have the colour of the place where their
// goroutine was created.
//
// The picture stays small, whatever the length of the trace. Slices that are narrower than a column of pixels are drawn
// together, in the colour that has most of the column, and at most `lanes_max` Ps are shown.
#pragma once

#include "command/trace/trace.h"

#include <string>

namespace thrum::command {

[[nodiscard]] std::string as_svg(trace const& from);

}  // namespace thrum::command
