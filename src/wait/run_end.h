// What waits for its time when the run ends: a call of after_func would otherwise keep its function for good.
#pragma once

#include "core/g.h"
#include "core/timer_record.h"

namespace thrum::rt {

// The record's entry was taken out of its heap, and the entry's reference with it. No M runs any more.
void end_with_its_run(timer_record& r) noexcept;

// It stands in a queue, and will not be started.
void end_with_its_run(G& unstarted) noexcept;

}  // namespace thrum::rt
