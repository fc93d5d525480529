// Plays a scenario and makes the recording that the page shows (docs/recording.md).
#pragma once

#include "command/play/run.h"
#include "command/play/scenario.h"
#include "command/trace/recording.h"

#include <string>

namespace thrum::command {

struct played {
  performance how;
  recording shown;
};

// `file` is what the page calls the scenario. What perform() throws, this throws as well. Throws unreadable_file
// (trace/trace_file.h) if the trace cannot be read back.
[[nodiscard]] played play_and_record(scenario const& what, std::string const& file);

}  // namespace thrum::command
