// Runs a scenario on the scheduler, in a run of its own, and writes its trace.
//
// The main goroutine starts the goroutines of the scenario and waits until they have ended. Each goroutine carries the
// name of its body, and writes a message into the trace when it begins a statement: its label (scenario.h).
#pragma once

#include "command/play/performance.h"
#include "command/play/scenario.h"

#include <string>

namespace thrum::command {

// Must not be called on a goroutine or while a run is alive. Throws std::system_error if the trace cannot be written,
// and another_trace if one is being written (THRUM_TRACE).
[[nodiscard]] performance perform(scenario const& what, std::string const& trace_path);

}  // namespace thrum::command
