#include "core/pace.h"

#include "base/heuristics.h"

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

struct measured {
  pace of;
  std::int64_t now_ns = 1'000;
  std::uint64_t runs = 0;

  void batch(std::uint64_t count, std::int64_t each_ns) {
    of.begin_batch(now_ns, runs);
    runs += count;
    now_ns += static_cast<std::int64_t>(count) * each_ns;
    of.end_batch(now_ns, runs);
  }
};

TEST(pace, S25_before_anything_is_known_goroutines_count_as_slow) {
  EXPECT_EQ(pace().run_ns(), slow_run_ns);
  EXPECT_FALSE(pace().in_batch());
}

TEST(pace, S25_quick_ones_are_known_after_some_batches) {
  measured m;
  for (int i = 0; i < 16; ++i) m.batch(4, 2'000);
  EXPECT_LT(m.of.run_ns(), 4'000);
  EXPECT_GE(m.of.run_ns(), 2'000);
}

TEST(pace, S25_one_slow_one_is_noticed_and_forgotten) {
  measured m;
  for (int i = 0; i < 32; ++i) m.batch(4, 2'000);
  m.batch(1, 1'000'000'000);
  EXPECT_GT(m.of.run_ns(), slow_run_ns / 8);
  EXPECT_LE(m.of.run_ns(), slow_run_ns / 2) << "a second counts no more than what is slow";
  for (int i = 0; i < 16; ++i) m.batch(1, 2'000);
  EXPECT_LT(m.of.run_ns(), 4'000);
}

TEST(pace, S25_a_batch_that_others_ran_says_nothing) {
  measured m;
  for (int i = 0; i < 32; ++i) m.batch(4, 2'000);
  std::int64_t const before_ns = m.of.run_ns();
  m.of.begin_batch(m.now_ns, m.runs);
  m.of.end_batch(m.now_ns + 1'000'000, m.runs);
  EXPECT_EQ(m.of.run_ns(), before_ns);
  EXPECT_FALSE(m.of.in_batch());
}

TEST(pace, S25_one_that_was_forgotten_says_nothing) {
  measured m;
  m.of.begin_batch(m.now_ns, m.runs);
  EXPECT_TRUE(m.of.in_batch());
  m.of.forget_batch();
  EXPECT_FALSE(m.of.in_batch());
  EXPECT_EQ(m.of.run_ns(), slow_run_ns);
}

}  // namespace
}  // namespace thrum::rt
