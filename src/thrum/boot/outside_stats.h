// read_stats for a thread that is no M.
#pragma once

#include "core/sched.h"
#include <thrum/stats.h>

namespace thrum::rt {

// The run waits for the calling thread. Interrupts no goroutine, so the figures of a P that runs are from slightly
// different moments. Allocates.
[[nodiscard]] stats read_stats_from_outside(Sched& s);

}  // namespace thrum::rt
