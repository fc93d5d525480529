#include "support/fatal.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using test::run_at;
using test::scaled;

class latches : public test::at_every_width {};

TEST_P(latches, wait_returns_after_the_last_count_down_and_sees_all_that_was_done) {
  run([&] {
    for (std::int64_t round = 0; round < scaled(5000, 100); ++round) {
      latch done(4);
      int plain[4] = {};  // written without atomics: wait() orders them
      for (int i = 0; i < 4; ++i) {
        thrum::go([&, i] {
          plain[i] = i + 1;
          done.count_down();
        });
      }
      done.wait();
      for (int i = 0; i < 4; ++i) ASSERT_EQ(plain[i], i + 1);
      ASSERT_TRUE(done.try_wait());
      done.wait();  // it stays open
    }
  });
}

TEST_P(latches, all_waiters_are_released_and_none_before) {
  run([&] {
    latch gate(2);
    std::atomic<int> waiting{0};
    std::atomic<int> passed{0};
    wait_group all;
    for (int i = 0; i < 100; ++i) {
      all.go([&] {
        ++waiting;
        gate.wait();
        ++passed;
      });
    }
    ASSERT_TRUE(test::wait_until([&] { return waiting == 100 && test::goroutine_is_parked_on(&gate); }));
    gate.count_down();
    for (int i = 0; i < 50; ++i) thrum::yield();
    EXPECT_EQ(passed.load(), 0);
    EXPECT_FALSE(gate.try_wait());
    gate.count_down();
    all.wait();
    EXPECT_EQ(passed.load(), 100);
  });
}

TEST_P(latches, arrive_and_wait_lets_all_go_together) {
  run([&] {
    latch meeting(8);
    std::atomic<int> arrived{0};
    std::atomic<int> early{0};
    wait_group all;
    for (int i = 0; i < 8; ++i) {
      all.go([&] {
        ++arrived;
        meeting.arrive_and_wait();
        if (arrived != 8) ++early;
      });
    }
    all.wait();
    EXPECT_EQ(early.load(), 0);
  });
}

TEST_P(latches, T14_a_goroutine_that_waited_may_destroy_it_at_once) {
  run([&] {
    for (std::int64_t round = 0; round < scaled(20'000, 300); ++round) {
      auto done = std::make_unique<latch>(3);
      for (int i = 0; i < 2; ++i) {
        thrum::go([&gate = *done, round] {
          if (round % 4 == 0) thrum::yield();
          gate.count_down();
        });
      }
      done->arrive_and_wait();
      done.reset();
    }
  });
}

THRUM_AT_EVERY_WIDTH(latches);

TEST(latch_outside, without_a_run_it_counts_and_says_why_it_cannot_wait) {
  latch gate(3);
  gate.count_down(2);
  EXPECT_FALSE(gate.try_wait());
  EXPECT_THROW(gate.wait(), std::logic_error);
  gate.count_down();
  gate.wait();
  latch(0).wait();
}

TEST(latch_outside, T12_waiters_of_an_earlier_run_need_no_wake_up) {
  test::without_slices const uninterrupted;
  auto const gate = std::make_unique<latch>(2);
  run_at(1, [&] {
    thrum::go([&] { gate->wait(); });
    thrum::yield();
    gate->count_down();
  });
  gate->count_down();
  EXPECT_TRUE(gate->try_wait());
}

class latch_misuse : public test::fatal_test {};

TEST_F(latch_misuse, SY_02_counting_below_zero_is_fatal) {
  EXPECT_FATAL(latch(1).count_down(2), "latch::count_down\\(2\\): the argument is out of range");
  EXPECT_FATAL(latch(1).count_down(-1), "latch::count_down\\(-1\\): the argument is out of range");
  EXPECT_FATAL(latch(-1), "latch\\(-1\\): the argument is out of range");
}

}  // namespace
}  // namespace thrum
