// The goroutine profile: where all goroutines are, as a profile for `go tool pprof`.
#pragma once

#include "debug/dump.h"
#include "debug/symbols.h"

#include <string>

namespace thrum::rt {

// One sample for each goroutine of the list, whose stacks were noted. Runs where debug/symbols.h allows that.
[[nodiscard]] std::string profile_of_goroutines(goroutine_list const& all, symbols& known);

}  // namespace thrum::rt
