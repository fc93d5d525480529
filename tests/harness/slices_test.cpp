// Tests run with the time slices that users have: nothing in tests/support changes them.
#include "base/platform.h"
#include "core/sched.h"
#include "support/child.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include <thrum/thrum.h>

#include <cstdint>
#include <cstdlib>

#include <gtest/gtest.h>

namespace thrum {
namespace {

constexpr std::int64_t shipped_ns = 10'000'000;

// It is run by the test below, because the environment of that test may ask for other slices, as chaos does.
TEST(slices, DISABLED_of_a_run_without_settings) {
  test::run_at(2, [] {
    EXPECT_EQ(test::this_sched().options.slice_ns, shipped_ns);
    EXPECT_EQ(test::this_sched().options.async_preemption, !rt::with_tsan) << "TSan keeps signals back (T15)";
  });
  EXPECT_EQ(std::getenv("THRUM_DEBUG"), nullptr);
}

TEST(slices, are_those_that_users_have) {
  test::outcome const child = test::run_program(
      test::this_program(),
      {.arguments = "--gtest_also_run_disabled_tests --gtest_filter=slices.DISABLED_of_a_run_without_settings",
       .environment = "env -u THRUM_DEBUG"});
  EXPECT_EQ(child.code, 0) << child.text;
  EXPECT_NE(child.text.find("[  PASSED  ] 1 test."), std::string::npos) << child.text;
}

}  // namespace
}  // namespace thrum
