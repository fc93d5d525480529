// The file that an environment variable names for something that each run writes.
#pragma once

#include "base/atomic.h"
#include "os/env.h"

#include <string>

namespace thrum::rt {

// Empty if the variable is not set. The second run of the process that asks gets the name with ".2" behind it, and so
// on. `runs` counts them.
inline std::string file_of_run(char const* variable, atomic<int>& runs) {
  char const* const name = os::environment(variable);
  if (name == nullptr || *name == '\0') return {};
  int const number = runs.fetch_add(1, relaxed) + 1;
  return number == 1 ? std::string(name) : std::string(name) + "." + std::to_string(number);
}

}  // namespace thrum::rt
