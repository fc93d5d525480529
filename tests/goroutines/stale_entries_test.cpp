// T07: what a joiner leaves behind in the queues when it runs its child in place.
#include "core/entry.h"
#include "core/run_queue.h"
#include "support/fake_gs.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

using test::fake_gs;
using test::number_of;
using test::numbers;

TEST(claim, T07_exactly_one_side_gets_an_unstarted_goroutine) {
  fake_gs gs(1);
  entry const e = gs.claimable(0);
  EXPECT_TRUE(e.is_claimable());
  EXPECT_EQ(e.g(), &gs[0]);
  EXPECT_FALSE(e.is_stale());
  EXPECT_TRUE(claim(gs[0]));
  EXPECT_EQ(gs[0].status.load(relaxed), g_status::running);
  EXPECT_FALSE(claim(gs[0]));
  EXPECT_TRUE(e.is_stale());
}

TEST(claim, T07_a_plain_entry_is_never_stale) {
  fake_gs gs(1);
  entry const e = gs.plain(0);
  EXPECT_FALSE(e.is_claimable());
  for (auto const status : {g_status::unstarted, g_status::runnable, g_status::running, g_status::dead}) {
    gs[0].status.store(status, relaxed);
    EXPECT_FALSE(e.is_stale());
  }
}

class full_run_queues : public testing::TestWithParam<std::uint32_t> {
 protected:
  full_run_queues() : queue_(GetParam()), gs_(GetParam()) {
    for (std::uint32_t i = 0; i < GetParam(); ++i) static_cast<void>(queue_.put(test::push, gs_.claimable(i)));
  }

  // Drops the stale; answers whether there is room.
  bool drop() {
    return queue_.drop_stale([this](G& gone) { dropped_.push_back(static_cast<long>(gone.id)); });
  }
  std::vector<long> drain() {
    std::vector<long> left;
    while (entry const e = queue_.pop()) left.push_back(number_of(e));
    return left;
  }

  run_queue queue_;
  fake_gs gs_;
  std::vector<long> dropped_;
};

TEST_P(full_run_queues, T07_a_full_run_queue_forgets_the_joined_and_keeps_the_order_of_the_rest) {
  std::vector<long> stale;
  std::vector<long> alive;
  for (std::uint32_t i = 0; i < GetParam(); ++i) {
    bool const joined = i % 2 == 0;
    ASSERT_TRUE(!joined || claim(gs_[i]));
    (joined ? stale : alive).push_back(static_cast<long>(i));
  }
  EXPECT_TRUE(drop());
  EXPECT_EQ(dropped_, stale);
  EXPECT_EQ(queue_.size(), alive.size());
  EXPECT_EQ(drain(), alive);
}

TEST_P(full_run_queues, T07_all_may_be_stale) {
  for (std::uint32_t i = 0; i < GetParam(); ++i) ASSERT_TRUE(claim(gs_[i]));
  EXPECT_TRUE(drop());
  EXPECT_EQ(dropped_, numbers(0, static_cast<long>(GetParam())));
  EXPECT_TRUE(queue_.looks_empty());
  EXPECT_EQ(queue_.put(test::push, gs_.plain(0)), run_queue::put_result::done);
}

TEST_P(full_run_queues, T07_a_few_stale_ones_are_not_worth_the_walk) {
  std::uint32_t const few = GetParam() / 4 - 1;
  for (std::uint32_t i = 0; i < few; ++i) ASSERT_TRUE(claim(gs_[i]));
  EXPECT_FALSE(drop()) << "still full: its half has to move";
  EXPECT_TRUE(dropped_.empty());
  EXPECT_EQ(drain(), numbers(0, static_cast<long>(GetParam())));
}

TEST_P(full_run_queues, T07_a_quarter_is) {
  std::uint32_t const quarter = GetParam() / 4;
  for (std::uint32_t i = 0; i < quarter; ++i) ASSERT_TRUE(claim(gs_[GetParam() - 1 - i]));
  EXPECT_TRUE(drop());
  EXPECT_EQ(dropped_.size(), quarter);
  EXPECT_EQ(drain(), numbers(0, static_cast<long>(GetParam() - quarter)));
}

TEST_P(full_run_queues, T07_it_works_at_every_position_of_the_run_queue) {
  for (std::uint32_t round = 0; round < 3 * GetParam(); ++round) {
    dropped_.clear();
    static_cast<void>(drain());
    for (std::uint32_t i = 0; i < GetParam(); ++i) {
      ASSERT_EQ(queue_.put(test::push, gs_.claimable(i)), run_queue::put_result::done);
    }
    for (std::uint32_t i = 0; i < GetParam(); i += 2) ASSERT_TRUE(claim(gs_[i]));
    ASSERT_TRUE(drop());
    ASSERT_EQ(dropped_.size(), GetParam() / 2);
    ASSERT_EQ(queue_.size(), GetParam() / 2);
    ASSERT_EQ(number_of(queue_.pop()), 1) << "one further each round";
  }
}

INSTANTIATE_TEST_SUITE_P(capacity, full_run_queues, testing::Values(4U, 16U, 256U), testing::PrintToStringParamName());

}  // namespace
}  // namespace thrum::rt
