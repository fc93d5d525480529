// S07, S08: the randomised mode on the running scheduler: nothing is lost by it, and one P with a seed can be repeated.
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/with_debug.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace thrum {
namespace {

struct debug_variable : test::with_debug {
  explicit debug_variable(std::string const& value) : with_debug("slice=10000000," + value) {}
};

class randomised_mode : public test::at_every_width {};

TEST_P(randomised_mode, S07_S08_nothing_is_lost_in_the_randomised_mode) {
  debug_variable const mode("randomize=1");
  for (int const capacity : {4, 256}) {
    int const goroutines = test::scaled(3000, 300);
    std::atomic<int> ran{0};
    int in_turn = 0;
    test::run_with({.max_procs = procs(), .local_queue_capacity = capacity}, [&] {
      wait_group all;
      mutex one_by_one;
      chan<int> passed(8);
      for (int i = 0; i < goroutines; ++i) {
        all.go([&, i] {
          thrum::yield();
          passed.send(i);
          std::lock_guard const guard(one_by_one);
          ++in_turn;
          ++ran;
        });
      }
      for (int i = 0; i < goroutines; ++i) ran += passed.recv().has_value() ? 0 : 1;
      all.wait();
      auto child = spawn([] { return 7; });
      EXPECT_EQ(child.join(), 7) << "joined, in place or not";
    });
    EXPECT_EQ(ran.load(), goroutines);
    EXPECT_EQ(in_turn, goroutines);
  }
}

THRUM_AT_EVERY_WIDTH(randomised_mode);

std::vector<int> order_of_a_hundred(char const* settings) {
  debug_variable const mode(settings);
  std::vector<int> order;
  test::run_at(1, [&] {
    wait_group all;
    for (int i = 0; i < 100; ++i) all.go([&, i] { order.push_back(i); });
    all.wait();
  });
  return order;
}

TEST(randomised_mode_at_one_p, S08_in_the_randomised_mode_the_order_is_the_seeds) {
  test::in_run_order const undisturbed;
  auto const drawn = order_of_a_hundred("randomize=1,seed=7");
  EXPECT_EQ(order_of_a_hundred("randomize=1,seed=7"), drawn);
  EXPECT_NE(order_of_a_hundred("randomize=1,seed=8"), drawn);
  EXPECT_NE(order_of_a_hundred("randomize=0,seed=7"), drawn);
  EXPECT_EQ(order_of_a_hundred("randomize=0,seed=7"), order_of_a_hundred("randomize=0,seed=8"))
      << "else it has no part in it";
}

}  // namespace
}  // namespace thrum
