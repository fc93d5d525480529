// A trace that was read, merged, replayed and checked.
#pragma once

#include "command/trace/history.h"
#include "command/trace/merge.h"
#include "command/trace/trace_file.h"

#include <string>
#include <vector>

namespace thrum::command {

struct trace {
  trace_file file;
  merged_events merged;
  history past;

  // Everything that contradicts the document. A trace that was cut off, and events that the file counts as lost, do not
  // contradict it.
  [[nodiscard]] findings const& violations() const noexcept { return file.violations; }
  // What a user of the numbers should know: that the trace was cut off, lost events, missing records.
  [[nodiscard]] std::vector<std::string> notes() const;
};

// Throws unreadable_file.
[[nodiscard]] trace analyse(trace_file file);

}  // namespace thrum::command
