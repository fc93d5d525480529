// Waiting for a goroutine with a time limit.
#include "support/run_at.h"
#include "support/scale.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <stdexcept>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::scaled;

class join_for : public test::at_every_width {};
THRUM_AT_EVERY_WIDTH(join_for);

TEST_P(join_for, one_that_goes_on_is_given_up_in_time_and_not_before) {
  run([] {
    chan<int> let_go;
    auto child = spawn([&] { return let_go.recv(); });
    auto const before = clock::now();
    EXPECT_FALSE(child.join_for(1ms));
    EXPECT_FALSE(child.join_until(clock::now() + 1ms));
    EXPECT_FALSE(child.join_until(std::chrono::steady_clock::now() + 1ms));
    EXPECT_GE(clock::now() - before, 3ms);
    EXPECT_FALSE(child.join_for(0s));
    EXPECT_FALSE(child.done());
    EXPECT_TRUE(child.joinable());
    let_go.send(7);
    EXPECT_TRUE(child.join_for(1h));
    EXPECT_TRUE(child.done());
    EXPECT_TRUE(child.join_for(0s));
    EXPECT_EQ(child.join(), 7);
  });
}

TEST_P(join_for, one_that_ends_wakes_its_joiner) {
  run([] {
    for (int i = 0; i < scaled(200); ++i) {
      auto child = spawn([i] {
        if (i % 2 == 0) thrum::yield();
        return i;
      });
      EXPECT_TRUE(child.join_for(1h));
      EXPECT_EQ(child.join(), i);
    }
  });
}

TEST_P(join_for, a_limit_of_the_largest_duration_is_none) {
  run([] {
    auto child = spawn([] { sleep_for(1ms); });
    EXPECT_TRUE(child.join_for(std::chrono::nanoseconds::max()));
    child.join();
  });
}

// The goroutine's end and the timeout come at about the same time. Whichever is first, the joiner is woken once and the
// result is there.
TEST_P(join_for, the_end_and_the_limit_at_once) {
  run([] {
    std::atomic<int> ended{0};
    std::atomic<int> given_up{0};
    wait_group all;
    for (int j = 0; j < 8; ++j) {
      all.go([&] {
        for (int i = 0; i < scaled(100); ++i) {
          auto const d = std::chrono::microseconds(20 + i % 50);
          auto child = spawn([d] {
            sleep_for(d);
            return 1;
          });
          if (child.join_for(d)) {
            EXPECT_TRUE(child.done());
            ++ended;
          } else {
            ++given_up;
          }
          if (i % 3 != 0) {
            EXPECT_EQ(child.join(), 1);
          }  // else it is dropped, ended or not
        }
      });
    }
    all.wait();
    EXPECT_EQ(ended + given_up, 8 * scaled(100));
  });
}

TEST(join_for_misuse, is_refused) {
  join_handle<int> empty;
  EXPECT_THROW(static_cast<void>(empty.join_for(1s)), std::logic_error);
  join_handle<void> left;
  test::run_at(1, [&] { left = spawn([] { select(); }); });
  EXPECT_THROW(static_cast<void>(left.join_for(1s)), std::logic_error);
}

}  // namespace
}  // namespace thrum
