// Go's numbers. Other tests show what they do. This test shows that they have not been changed by accident.
#include "base/limits.h"

#include "base/heuristics.h"

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

TEST(limits, S07_a_run_queue_holds_256_and_may_be_made_as_small_as_4) {
  EXPECT_EQ(run_queue_capacity_max, 256U);
  EXPECT_EQ(run_queue_capacity_min, 4U);
}

TEST(limits, S09_the_global_queue_has_every_61st_turn) { EXPECT_EQ(global_tick, 61U); }
TEST(limits, S10_a_thief_goes_round_four_times) { EXPECT_EQ(steal_rounds, 4); }
TEST(limits, S21_ten_thousand_threads) { EXPECT_EQ(threads_max_default, 10'000); }
TEST(limits, S26_a_p_keeps_128_sudogs) { EXPECT_EQ(sudog_cache_max, 128U); }
TEST(limits, S29_stacks_may_grow_to_one_gibibyte) { EXPECT_EQ(stack_size_max, 1UL << 30U); }
TEST(limits, T10_a_guard_stops_a_frame_of_64_KiB) { EXPECT_GE(stack_guard_bytes, 64UL * 1024 + 4096); }
TEST(limits, T07_a_stack_has_64_KiB_more_than_was_asked_for) { EXPECT_EQ(stack_join_reserve_bytes, 64UL * 1024); }

}  // namespace
}  // namespace thrum::rt
