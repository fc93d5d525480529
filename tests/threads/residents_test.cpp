// The goroutines at home on an M: their number, and whose turn it is (T08).
#include "core/residents.h"

#include "base/heuristics.h"
#include "support/fake_gs.h"
#include "support/push_key.h"

#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

class an_ms_residents : public testing::Test {
 protected:
  static constexpr long no_resident = -1;

  void queue(std::size_t index) { it_.queue(test::push, gs_[index]); }
  void post(std::size_t index) {
    os::lock_guard const guard(lock_);
    it_.post(test::push, gs_[index]);
  }
  // The number of the resident whose turn it is.
  long take(bool others_wait) {
    G* const g = it_.take(lock_, others_wait);
    return g != nullptr ? g - &gs_[0] : no_resident;
  }

  os::lock lock_{lock_rank::sched};
  residents it_;
  test::fake_gs gs_{4};
};

TEST_F(an_ms_residents, T08_are_counted_whether_or_not_they_are_runnable) {
  EXPECT_FALSE(it_.any());
  it_.add();
  it_.add();
  EXPECT_FALSE(it_.any_runnable());
  it_.remove();
  EXPECT_TRUE(it_.any());
  it_.remove();
  EXPECT_FALSE(it_.any());
}

TEST_F(an_ms_residents, T08_run_in_the_order_in_which_they_became_runnable) {
  EXPECT_EQ(take(false), no_resident);
  post(1);
  post(2);
  EXPECT_EQ(it_.first_posted(), &gs_[1]);
  EXPECT_TRUE(it_.any_runnable());
  EXPECT_EQ(take(false), 1) << "from the inbox, because the queue is empty";
  queue(3);
  EXPECT_EQ(take(false), 2);
  EXPECT_EQ(take(false), 3);
  EXPECT_FALSE(it_.any_runnable());
  EXPECT_EQ(take(false), no_resident);
}

TEST_F(an_ms_residents, T08_have_every_other_turn_if_others_wait) {
  for (std::size_t i = 0; i < 3; ++i) queue(i);
  EXPECT_EQ(take(true), 0);
  EXPECT_EQ(take(true), no_resident);
  EXPECT_EQ(take(true), 1);
  EXPECT_EQ(take(true), no_resident);
  EXPECT_EQ(take(false), 2);
}

// The queue is never empty, because a resident yields in a loop.
TEST_F(an_ms_residents, T08_come_out_of_the_inbox_beside_one_that_only_yields) {
  for (int round = 0; round < 3; ++round) {
    queue(0);
    post(1);
    int turns = 0;
    for (long next = take(false); next != 1; next = take(false)) {
      ASSERT_EQ(next, 0);
      ASSERT_LE(++turns, turns_between_inbox_looks + 1);
      queue(0);
    }
    EXPECT_GE(turns, turns_between_inbox_looks - 1);
    while (take(false) != no_resident) {
    }
  }
}

}  // namespace
}  // namespace thrum::rt
