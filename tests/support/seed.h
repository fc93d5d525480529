// The seed of a test that plays at random: printed with every run, and taken from THRUM_TEST_SEED when that is set, so
// that a failure can be played again (as far as the machine's own timing allows).
#pragma once

#include "base/random.h"
#include "os/clock.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

namespace thrum::test {

[[nodiscard]] inline std::uint64_t test_seed() {
  char const* const text = std::getenv("THRUM_TEST_SEED");
  std::uint64_t const seed =
      text != nullptr ? std::strtoull(text, nullptr, 0) : static_cast<std::uint64_t>(rt::os::monotonic_ns());
  std::printf("THRUM_TEST_SEED=%llu plays it again\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);  // what follows may end the program
  testing::Test::RecordProperty("seed", std::to_string(seed));
  return seed;
}

// A generator of its own for each goroutine of a test.
[[nodiscard]] inline rt::random_source nth_random(std::uint64_t seed, std::uint64_t n) {
  rt::random_source mixed(seed + n * 0x9e3779b97f4a7c15ULL);
  return rt::random_source(mixed.next());
}

}  // namespace thrum::test
