#include "base/random.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

std::vector<std::uint64_t> first_values(std::uint64_t seed) {
  random_source source(seed);
  std::vector<std::uint64_t> values(1000);
  for (auto& value : values) value = source.next();
  return values;
}

TEST(random_source, one_seed_gives_one_sequence) {
  EXPECT_EQ(first_values(42), first_values(42));
  EXPECT_NE(first_values(42), first_values(43));
}

TEST(random_source, zero_is_a_seed_like_any_other) {
  auto const values = first_values(0);
  EXPECT_EQ(std::set(values.begin(), values.end()).size(), values.size());
}

TEST(random_source, below_reaches_every_value_and_none_above) {
  constexpr std::uint32_t bound = 61;
  constexpr int draws = 61'000;
  random_source source(7);
  std::vector<int> seen(bound, 0);
  for (int i = 0; i < draws; ++i) {
    std::uint32_t const value = source.below(bound);
    ASSERT_LT(value, bound);
    ++seen[value];
  }
  for (int const count : seen) {  // 1000 each is expected, with a deviation of some 30
    EXPECT_GT(count, 700);
    EXPECT_LT(count, 1300);
  }
}

TEST(random_source, below_one_is_always_zero) {
  random_source source(7);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(source.below(1), 0U);
}

// --- SC-11: the order in which a thief visits the Ps ---

class steal_order : public testing::TestWithParam<std::uint32_t> {};

TEST_P(steal_order, SC_11_every_step_visits_all_ps_once_from_every_start) {
  std::uint32_t const count = GetParam();
  coprime_steps const steps(count);
  std::uint32_t const starts = count <= 64 ? count : 3;
  for (std::uint32_t index = 0; index < steps.size(); ++index) {
    for (std::uint32_t start = 0; start < starts; ++start) {
      std::vector<bool> visited(count, false);
      random_order order(steps, index * count + start);
      ASSERT_EQ(order.position(), start);
      ASSERT_EQ(order.step(), steps[index]);
      for (std::uint32_t n = 0; n < count; ++n, order.advance()) {
        ASSERT_FALSE(order.done());
        ASSERT_LT(order.position(), count);
        ASSERT_FALSE(visited[order.position()]) << "step " << steps[index] << " meets a P twice";
        visited[order.position()] = true;
      }
      ASSERT_TRUE(order.done());
    }
  }
}

TEST_P(steal_order, SC_11_three_or_more_ps_have_at_least_two_steps) {
  coprime_steps const steps(GetParam());
  EXPECT_EQ(steps.count(), GetParam());
  EXPECT_GE(steps.size(), GetParam() >= 3 ? 2U : 1U);
}

TEST_P(steal_order, SC_11_the_first_ps_times_steps_seeds_give_different_walks) {
  std::uint32_t const count = GetParam();
  coprime_steps const steps(count);
  std::set<std::pair<std::uint32_t, std::uint32_t>> walks;
  for (std::uint32_t seed = 0; seed < count * steps.size(); ++seed) {
    random_order const order(steps, seed);
    EXPECT_TRUE(walks.emplace(order.position(), order.step()).second) << "seed " << seed << " repeats a walk";
  }
  EXPECT_EQ(walks.size(), std::size_t{count} * steps.size());
}

INSTANTIATE_TEST_SUITE_P(procs, steal_order, testing::Range(1U, 65U));

TEST(steal_order, SC_11_holds_for_the_largest_number_of_ps) {
  constexpr std::uint32_t count = procs_max;
  coprime_steps const steps(count);
  ASSERT_EQ(steps.size(), count / 2);  // the odd ones: 1024 is a power of two
  for (std::uint32_t const index : {0U, 1U, steps.size() / 2, steps.size() - 1}) {
    std::vector<bool> visited(count, false);
    for (random_order order(steps, index * count + 17); !order.done(); order.advance()) {
      ASSERT_FALSE(visited[order.position()]);
      visited[order.position()] = true;
    }
    EXPECT_EQ(std::count(visited.begin(), visited.end(), true), count);
  }
}

}  // namespace
}  // namespace thrum::rt
