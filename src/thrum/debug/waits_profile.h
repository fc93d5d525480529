// The block profile and the mutex profile as files for `go tool pprof`.
#pragma once

#include "core/wait_profile.h"
#include "debug/symbols.h"

#include <string>
#include <vector>

namespace thrum::rt {

struct wait_places {
  std::vector<wait_place> all;
  wait_place lost;
};

// What was noted since the program began. The mark must not be set.
[[nodiscard]] wait_places places_of_waits(wait_profile& its);

// What was noted between two calls of places_of_waits.
[[nodiscard]] wait_places noted_since(wait_places const& before, wait_places now);

// Runs where debug/symbols.h allows that.
[[nodiscard]] std::string profile_of_waits(wait_places const& places, symbols& known);

}  // namespace thrum::rt
