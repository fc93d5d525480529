// The figures of a run as text, one per line: "procs.0.steals 17". docs/debug-socket.md lists the names.
#pragma once

#include "core/sched.h"

#include <string>

namespace thrum::rt {

// On a thread that is no M, and that the run waits for. Stops no goroutine. Allocates.
[[nodiscard]] std::string stats_lines(Sched& s);

}  // namespace thrum::rt
