// Runs a scenario on the scheduler, in a run of its own, and writes its trace.
//
// The main goroutine starts the goroutines of the scenario and waits until they have ended. Each goroutine carries the
// name of its body, and writes a message into the trace when it begins a statement: the `label` of the statement.
#pragma once

#include "command/play/scenario.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace thrum::command {

// "7:3", where the statement is in the text. No two statements have the same label.
[[nodiscard]] std::string label_of(statement const& one);

enum class ending : std::uint8_t {
  finished,             // all goroutines have ended
  deadlock,             // those that are left wait for each other
  time_limit,           // the scenario's `limit`
  too_many_goroutines,  // more than scenario_goroutines_max
  too_many_statements,  // more than scenario_statements_max
  fault,                // a goroutine has done what is an error, such as sending on a closed channel
};

struct performance {
  ending how = ending::finished;
  std::string why{};                              // a sentence. Empty if all goroutines have ended
  std::chrono::steady_clock::time_point until{};  // when it ended: what is in the trace later does not belong to it
  std::vector<std::string> still_there{};  // what the goroutines did that had not ended: "G5 worker, line 7: recv c"
};

// Must not be called on a goroutine or while a run is alive. Throws std::system_error if the trace cannot be written,
// and std::logic_error if another trace is being written (THRUM_TRACE).
[[nodiscard]] performance perform(scenario const& what, std::string const& trace_path);

}  // namespace thrum::command
