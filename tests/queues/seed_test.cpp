// THRUM_DEBUG=seed=N fixes every random choice of the scheduler.
#include "core/sched.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/with_debug.h"
#include <thrum/thrum.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using test::with_debug;

std::vector<std::uint64_t> first_choices(int procs) {
  std::vector<std::uint64_t> choices;
  test::run_at(procs, [&] {
    // Copies: the Ps' own generators are left alone.
    for (auto const& p : test::this_sched().procs) choices.push_back(rt::random_source(p->random).next());
  });
  return choices;
}

TEST(seed, the_environment_fixes_the_generator_of_every_p) {
  with_debug const fixed("seed=42");
  auto const choices = first_choices(8);
  EXPECT_EQ(choices, first_choices(8));
  for (std::size_t i = 1; i < choices.size(); ++i) EXPECT_NE(choices[i], choices[0]) << "each P has its own";
}

TEST(seed, another_seed_is_another_run) {
  std::vector<std::uint64_t> choices;
  {
    with_debug const fixed("seed=42");
    choices = first_choices(8);
  }
  {
    with_debug const fixed("schedtrace=0,seed=43");
    EXPECT_NE(choices, first_choices(8));
  }
  with_debug const without("");
  EXPECT_NE(first_choices(8), first_choices(8)) << "without one every run is different";
}

TEST(seed, it_is_kept_in_the_settings) {
  with_debug const fixed("seed=4711");
  test::run_at(1, [] { EXPECT_EQ(test::this_sched().options.seed, 4711U); });
}

}  // namespace
}  // namespace thrum
