// Rounds of a test that looks for a rare interleaving. On a busy machine one round may take a hundred times as long as
// usual, so the rounds end early rather than that the watchdog ends the test.
//
//   for (rounds all(20'000); all.next();) race_once();
//   EXPECT_EQ(races_seen, all.begun());
#pragma once

#include "os/clock.h"

#include <cstdint>

namespace thrum::test {

class rounds {
 public:
  explicit rounds(std::int64_t most) : most_(most) {}

  // Whether there is another round. There is at least one.
  [[nodiscard]] bool next() {
    if (begun_ == most_ || (begun_ > 0 && rt::os::monotonic_ns() > until_ns_)) return false;
    ++begun_;
    return true;
  }
  [[nodiscard]] std::int64_t begun() const { return begun_; }  // how many have begun

 private:
  static constexpr std::int64_t limit_ns = 15'000'000'000;
  std::int64_t const most_;
  std::int64_t const until_ns_ = rt::os::monotonic_ns() + limit_ns;
  std::int64_t begun_ = 0;
};

}  // namespace thrum::test
