// Heuristics of the scheduler that a benchmark leaves out. The tests of what leaving out does are for builds with
// THRUM_ABLATION (./dev test --only ablation).
#include "base/ablation.h"

#include "os/clock.h"
#include "sched/watch.h"
#include "support/bare_sched.h"
#include "support/fatal.h"
#include "support/run_at.h"
#include "support/with_environment.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

TEST(ablation, a_list_names_the_heuristics_that_are_left_out) {
  EXPECT_EQ(parse_ablations("").left_out, 0U);
  EXPECT_EQ(parse_ablations("pace").left_out, bit_of(heuristic::pace));
  ablations const two = parse_ablations("pace,,moment,");
  EXPECT_EQ(two.left_out, bit_of(heuristic::pace) | bit_of(heuristic::moment));
  EXPECT_TRUE(two.unknown.empty());
}

TEST(ablation, every_name_has_a_bit_of_its_own) {
  std::string_view rest = heuristic_names();
  std::uint64_t seen = 0;
  int count = 0;
  while (!rest.empty()) {
    std::size_t const comma = std::min(rest.find(", "), rest.size());
    ablations const one = parse_ablations(rest.substr(0, comma));
    EXPECT_EQ(std::popcount(one.left_out), 1) << rest.substr(0, comma);
    EXPECT_EQ(one.left_out & seen, 0U) << rest.substr(0, comma);
    seen |= one.left_out;
    ++count;
    rest.remove_prefix(std::min(comma + 2, rest.size()));
  }
  EXPECT_EQ(count, static_cast<int>(heuristic::stack_trim) + 1) << "the last of the list is stack_trim";
}

TEST(ablation, an_unknown_name_is_told_and_nothing_is_left_out) {
  ablations const wrong = parse_ablations("pace,dance,prance");
  EXPECT_EQ(wrong.unknown, "dance");
  EXPECT_EQ(wrong.left_out, 0U);
  EXPECT_EQ(parse_ablations("pac").unknown, "pac") << "the beginning of a name is no name";
}

#if THRUM_ABLATION

class ablation_build : public test::fatal_test {
 protected:
  ~ablation_build() override { leave_out(nullptr); }
};

TEST_F(ablation_build, a_heuristic_applies_unless_the_variable_names_it_when_a_run_starts) {
  {
    test::with_environment const meanwhile("THRUM_ABLATE", "pace,sparse_polls");
    test::run_at(1, [] {
      EXPECT_FALSE(applies(heuristic::pace));
      EXPECT_FALSE(applies(heuristic::sparse_polls));
      EXPECT_TRUE(applies(heuristic::few_events));
    });
  }
  test::with_environment const meanwhile("THRUM_ABLATE", std::nullopt);
  test::run_at(1, [] { EXPECT_TRUE(applies(heuristic::pace)); });
}

TEST_F(ablation_build, the_scheduler_does_without_what_is_left_out) {
  test::bare_sched s(2);
  Sched& sched = s.m(0).sched;
  std::int64_t const now_ns = os::monotonic_ns();
  std::int64_t const in_an_hour_ns = now_ns + std::int64_t{3'600'000'000'000};
  EXPECT_TRUE(is_far_off(sched, in_an_hour_ns, now_ns));
  leave_out("far_off_timers");
  EXPECT_FALSE(is_far_off(sched, in_an_hour_ns, now_ns)) << "each timer has to be watched by an M";
}

TEST_F(ablation_build, an_unknown_name_ends_the_program_with_the_names_that_there_are) {
  test::with_environment const meanwhile("THRUM_ABLATE", "dance");
  EXPECT_FATAL(test::run_at(1, [] {}), "there is no heuristic dance; there are search_patience, .*, stack_trim");
}

#else

TEST(ablation, other_builds_have_all_heuristics_whatever_the_variable_says) {
  static_assert(applies(heuristic::pace), "the question is answered by the compiler");
  test::with_environment const meanwhile("THRUM_ABLATE", "dance");
  bool has_run = false;
  test::run_at(1, [&] { has_run = true; });
  EXPECT_TRUE(has_run);
}

#endif

}  // namespace
}  // namespace thrum::rt
