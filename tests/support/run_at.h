// Runs the body of a test on the scheduler, with a chosen number of Ps, while the watchdog checks that it does not
// hang.
//
//   run_at(1, [] { ... });                         // P=1
//
//   class my_topic : public at_every_width {};     // a TEST_P that runs at P = 1, 2, 8 and 64
//   TEST_P(my_topic, S07_...) { run([&] { ... procs() ... }); }
//   THRUM_AT_EVERY_WIDTH(my_topic);                // or at others: THRUM_AT_WIDTHS(my_topic, 2, 4, 16);
#pragma once

#include "support/watchdog.h"
#include <thrum/run.h>

#include <string>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

namespace thrum::test {

// As thrum::run, with the watchdog.
template <class F>
int run_with(options chosen, F body) {
  start_watchdog();
  return thrum::run(
      [&] {
        watched_run const watched;
        return body();
      },
      chosen);
}

template <class F>
int run_at(int procs, F body) {
  return run_with({.max_procs = procs}, std::move(body));
}

class at_every_width : public testing::TestWithParam<int> {
 protected:
  [[nodiscard]] static int procs() { return GetParam(); }
  template <class F>
  static int run(F body) {
    return run_at(procs(), std::move(body));
  }
};

}  // namespace thrum::test

#define THRUM_AT_WIDTHS(suite, ...)                                 \
  INSTANTIATE_TEST_SUITE_P(at, suite, testing::Values(__VA_ARGS__), \
                           [](auto const& width) { return "P" + std::to_string(width.param); })
#define THRUM_AT_EVERY_WIDTH(suite) THRUM_AT_WIDTHS(suite, 1, 2, 8, 64)
