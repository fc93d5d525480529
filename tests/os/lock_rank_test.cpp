#include "base/lock_rank.h"

#include "support/fatal.h"

#include <string>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

class lock_ranks : public test::fatal_test {
 protected:
  void SetUp() override {
    if (!debug_checks) GTEST_SKIP() << "ranks are checked in builds with THRUM_DEBUG_CHECKS only";
    ASSERT_EQ(ranks_held(), 0);
  }
  void TearDown() override { EXPECT_EQ(ranks_held(), 0); }
};

std::string refusal(lock_rank wanted, lock_rank held) {
  return "lock of rank " + std::to_string(static_cast<int>(wanted)) + " taken while one of rank " +
         std::to_string(static_cast<int>(held)) + " is held";
}

TEST_F(lock_ranks, rising_order_is_allowed) {
  lock_rank const rising[] = {lock_rank::safe_point, lock_rank::channel,    lock_rank::sema_bucket, lock_rank::sched,
                              lock_rank::free_lists, lock_rank::stack_pool, lock_rank::leaf};
  int held = 0;
  for (auto const rank : rising) {
    rank_acquired(rank);
    EXPECT_EQ(ranks_held(), ++held);
  }
  for (auto const rank : rising) {  // in any order
    rank_released(rank);
    EXPECT_EQ(ranks_held(), --held);
  }
}

TEST_F(lock_ranks, falling_order_is_fatal_and_names_both_ranks) {
  EXPECT_FATAL(
      {
        rank_acquired(lock_rank::leaf);
        rank_acquired(lock_rank::sched);
      },
      refusal(lock_rank::sched, lock_rank::leaf));
}

TEST_F(lock_ranks, two_locks_of_one_rank_are_fatal) {
  EXPECT_FATAL(
      {
        rank_acquired(lock_rank::sema_bucket);
        rank_acquired(lock_rank::sema_bucket);
      },
      refusal(lock_rank::sema_bucket, lock_rank::sema_bucket));
}

TEST_F(lock_ranks, release_of_what_is_not_held_is_fatal) {
  EXPECT_FATAL(rank_released(lock_rank::sched), "internal error");
  EXPECT_FATAL(
      {
        rank_acquired(lock_rank::sched);
        rank_released(lock_rank::leaf);
      },
      "internal error");
}

TEST_F(lock_ranks, release_out_of_the_middle_keeps_the_order_of_the_rest) {
  rank_acquired(lock_rank::sema_bucket);
  rank_acquired(lock_rank::sched);
  rank_acquired(lock_rank::leaf);
  rank_released(lock_rank::sched);
  EXPECT_FATAL(rank_acquired(lock_rank::stack_pool), refusal(lock_rank::stack_pool, lock_rank::leaf));
  rank_released(lock_rank::leaf);
  rank_acquired(lock_rank::sched);  // allowed again: only sema_bucket is held
  rank_released(lock_rank::sched);
  rank_released(lock_rank::sema_bucket);
}

}  // namespace
}  // namespace thrum::rt
