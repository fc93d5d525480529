// The calls of after_func that are pending when the run ends. Without these functions, each would keep its function for
// good.
#pragma once

#include "core/g.h"
#include "core/timer_record.h"

namespace thrum::rt {

// The record's entry was taken out of its heap, and this takes over the entry's reference. No M runs at this time.
void end_with_its_run(timer_record& r) noexcept;

// The goroutine stands in a queue and will not be started.
void end_with_its_run(G& unstarted) noexcept;

}  // namespace thrum::rt
