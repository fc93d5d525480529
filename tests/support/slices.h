// How long slices are in a test. On a busy machine ten milliseconds pass anywhere, and many tests say in which order
// goroutines run: so nothing is preempted in the tests, but for those that ask for it.
//
//   with_slices_of const slices(500us);
//   run_at(2, [] { ... });
#pragma once

#include "support/with_debug.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>

#include <errno.h>

namespace thrum::test {

// For the whole process, unless the environment says something. The stress tests take what comes.
inline void end_no_slices() {
  if (std::strcmp(program_invocation_short_name, "test_stress") != 0) ::setenv("THRUM_DEBUG", "slice=10000000", 0);
}

class with_slices_of : with_debug {
 public:
  explicit with_slices_of(std::chrono::microseconds length) : with_debug("slice=" + std::to_string(length.count())) {}
};

}  // namespace thrum::test
