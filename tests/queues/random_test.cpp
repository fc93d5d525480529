#include "base/random.h"

#include <cstdint>
#include <memory>
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

std::vector<std::uint32_t> const proc_counts = [] {
  std::vector<std::uint32_t> counts;
  for (std::uint32_t count = 1; count <= 64; ++count) counts.push_back(count);
  return counts;
}();

// How often the walk visits each P.
std::vector<int> visits(coprime_steps const& steps, std::uint32_t random) {
  std::vector<int> seen(steps.count(), 0);
  for (random_order order(steps, random); !order.done(); order.advance()) ++seen.at(order.position());
  return seen;
}

TEST(steal_order, SC_11_every_step_visits_all_ps_once_from_every_start) {
  for (std::uint32_t const count : proc_counts) {
    coprime_steps const steps(count);
    for (std::uint32_t random = 0; random < count * steps.size(); ++random) {
      ASSERT_EQ(visits(steps, random), std::vector<int>(count, 1)) << "of " << count << ", random " << random;
    }
  }
}

TEST(steal_order, SC_11_three_or_more_ps_have_at_least_two_steps) {
  for (std::uint32_t const count : proc_counts) {
    coprime_steps const steps(count);
    EXPECT_EQ(steps.count(), count);
    EXPECT_GE(steps.size(), count >= 3 ? 2U : 1U) << "of " << count;
  }
}

TEST(steal_order, SC_11_the_first_ps_times_steps_seeds_give_different_walks) {
  for (std::uint32_t const count : proc_counts) {
    coprime_steps const steps(count);
    std::set<std::pair<std::uint32_t, std::uint32_t>> walks;
    for (std::uint32_t random = 0; random < count * steps.size(); ++random) {
      random_order const order(steps, random);
      EXPECT_TRUE(walks.emplace(order.position(), order.step()).second) << "of " << count << ", random " << random;
    }
  }
}

TEST(steal_order, SC_11_holds_for_the_largest_number_of_ps) {
  constexpr std::uint32_t count = procs_max;
  auto const steps = std::make_unique<coprime_steps>(count);
  ASSERT_EQ(steps->size(), count / 2);  // the odd ones: 1024 is a power of two
  for (std::uint32_t const index : {0U, 1U, steps->size() / 2, steps->size() - 1}) {
    EXPECT_EQ(visits(*steps, index * count + 17), std::vector<int>(count, 1));
  }
}

TEST(steal_order, any_random_word_gives_a_walk) {
  coprime_steps const steps(7);
  for (std::uint32_t const random : {0U, 41U, 42U, 0x7fff'ffffU, 0xffff'ffffU}) {
    EXPECT_EQ(visits(steps, random), std::vector<int>(7, 1));
  }
}

}  // namespace
}  // namespace thrum::rt
