// The part of the summary that counts events: steals, hand-offs, preemptions, stops of the world.
#pragma once

#include "command/trace/summary.h"
#include "command/trace/trace.h"

namespace thrum::command {

void add_events(trace const& from, summary& into);

}  // namespace thrum::command
