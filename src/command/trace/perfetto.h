// The trace in the format of Perfetto, for ui.perfetto.dev and trace_processor.
//
// There is a track for each P, which shows the goroutines that run on it, one for each M, which shows the state of its
// thread, and one for each goroutine, which shows its states, its regions and its messages. An arrow leads from the
// place where a goroutine is readied to the slice in which it runs next. Counters show the runnable goroutines, the Ms
// that search for work, and the goroutines in calls.
#pragma once

#include "command/trace/trace.h"

#include <iosfwd>

namespace thrum::command {

// Whether this program was built with protobuf. Without it write_perfetto must not be called.
[[nodiscard]] bool has_perfetto() noexcept;

void write_perfetto(trace const& from, std::ostream& to);

}  // namespace thrum::command
