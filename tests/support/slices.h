// The length of time slices in a test. Tests run with the default of 10 ms. A test that counts switches, or that checks
// the order in which goroutines run, asks for slices that do not end while it runs, because on a busy machine 10 ms may
// pass anywhere:
//
//   without_slices const uninterrupted;
//   run_at(1, [] { ... });
//
// A test of preemption asks for short slices: with_slices_of const slices(500us).
#pragma once

#include "support/with_debug.h"

#include <chrono>
#include <string>

namespace thrum::test {

class with_slices_of : with_debug {
 public:
  explicit with_slices_of(std::chrono::microseconds length) : with_debug("slice=" + std::to_string(length.count())) {}
};

class without_slices : with_slices_of {
 public:
  without_slices() : with_slices_of(std::chrono::seconds(10)) {}
};

}  // namespace thrum::test
