// The length of time slices in a test, and how much of chaos (CONTRIBUTING.md) a test takes part in. Tests run with the
// default of 10 ms. A test that counts switches, or that checks the order in which goroutines run, asks for slices that
// do not end while it runs, because on a busy machine 10 ms may pass anywhere:
//
//   without_slices const uninterrupted;
//   run_at(1, [] { ... });
//
// A test of preemption asks for short slices: with_slices_of const slices(500us).
//
// In chaos a slice also ends at random, and goroutines leave the run queue in a random order. Each of these classes
// leaves out what would make a test wrong, so that the test can run with the rest:
//
//   in_run_order const order;     // exact orders and counts of switches: delays only, and slices as without_slices
//   delays_only const quiet;      // counts of threads, system calls and decisions: delays only, and slices of 10 ms
//   with_own_procs const fixed;   // the test sets or counts the Ps: where chaos changes their number, it stops the
//                                 // world without changing it
#pragma once

#include "support/with_debug.h"
#include "support/with_environment.h"

#include <chrono>
#include <cstdlib>
#include <optional>
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

class delays_only {
 private:
  with_debug debug_{""};
  with_environment stops_{"THRUM_CHAOS_STOPS", std::nullopt};
  with_environment resizes_{"THRUM_CHAOS_RESIZE", std::nullopt};
  with_environment ends_{"THRUM_CHAOS_PREEMPT", std::nullopt};
};

class in_run_order : delays_only, without_slices {};

class with_own_procs {
 private:
  static std::optional<std::string> value_of(char const* variable) {
    char const* const value = std::getenv(variable);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  }

  // In this order: whether the world stops is decided before the variable that says so is removed.
  with_environment stops_{
      "THRUM_CHAOS_STOPS",
      value_of(std::getenv("THRUM_CHAOS_RESIZE") != nullptr ? "THRUM_CHAOS_RESIZE" : "THRUM_CHAOS_STOPS")};
  with_environment resizes_{"THRUM_CHAOS_RESIZE", std::nullopt};
};

}  // namespace thrum::test
