#include "os/clock.h"

#include "os/fault.h"

#include <set>

#include <errno.h>
#include <gtest/gtest.h>

namespace thrum::rt::os {
namespace {

TEST(clock, never_goes_back) {
  std::int64_t last = monotonic_ns();
  EXPECT_GT(last, 0);
  for (int i = 0; i < 10'000; ++i) {
    std::int64_t const now = monotonic_ns();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(clock, goes_on) {
  std::int64_t const started = monotonic_ns();
  while (monotonic_ns() == started) {
  }
  SUCCEED();
}

TEST(random_seed, differs_from_call_to_call) {
  std::set<std::uint64_t> seeds;
  for (int i = 0; i < 100; ++i) seeds.insert(random_seed());
  EXPECT_EQ(seeds.size(), 100U);
}

TEST(random_seed, without_getrandom_still_differs) {
  inject_fault(call::getrandom, ENOSYS, 0, fault_for_good);
  errno = EDOM;
  std::set<std::uint64_t> seeds;
  for (int i = 0; i < 100; ++i) {
    std::int64_t const now = monotonic_ns();
    while (monotonic_ns() == now) {
    }
    seeds.insert(random_seed());
  }
  EXPECT_EQ(seeds.size(), 100U);
  EXPECT_EQ(errno, EDOM);
  clear_faults();
}

}  // namespace
}  // namespace thrum::rt::os
