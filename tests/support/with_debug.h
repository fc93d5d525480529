// Sets THRUM_DEBUG for the lifetime of an object, and restores its value afterwards.
//
//   with_debug const meanwhile("asyncpreemptoff=1,slice=1000");
//   run_at(1, [] { ... });
#pragma once

#include "support/with_environment.h"

#include <string>

namespace thrum::test {

class with_debug : with_environment {
 public:
  explicit with_debug(std::string const& settings) : with_environment("THRUM_DEBUG", settings) {}
};

}  // namespace thrum::test
