// The exact run orders of row SC-05 at P=1, through the public API only.
#include "support/fake_gs.h"
#include "support/run_at.h"
#include "support/slices.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using test::numbers;
using test::operator+;
using test::run_at;

// A goroutine that spawns n empty ones and then waits: in which order do they run?
std::vector<long> order_of(long n) {
  std::vector<long> order;
  run_at(1, [&] {
    wait_group all;
    all.add(n);
    for (long i = 0; i < n; ++i) {
      thrum::go([&, i] {
        order.push_back(i);
        all.done();
      });
    }
    all.wait();
  });
  return order;
}

TEST(run_order, SC_05_five_run_as_4_0_1_2_3) {
  test::in_run_order const undisturbed;
  EXPECT_EQ(order_of(5), (std::vector<long>{4, 0, 1, 2, 3}));
}

TEST(run_order, SC_05_257_still_fit_the_last_and_then_all_in_order) {
  test::in_run_order const undisturbed;
  EXPECT_EQ(order_of(257), numbers(256, 257) + numbers(0, 256));
}

TEST(run_order, SC_05_258_overflow_half_and_show_the_61st_tick) {
  test::in_run_order const undisturbed;
  std::vector<long> const order = order_of(258);
  ASSERT_EQ(order.size(), 258U);
  auto const place = [&](long which) { return std::find(order.begin(), order.end(), which) - order.begin(); };
  EXPECT_EQ(order.front(), 257);
  EXPECT_EQ(place(1) - place(0), 61) << "0 and 1 come from the global queue, exactly 60 local ones apart";
  std::vector<long> rest;
  for (long const each : order) {
    if (each != 0 && each != 1) rest.push_back(each);
  }
  EXPECT_EQ(rest, numbers(257, 258) + numbers(128, 256) + numbers(2, 128) + numbers(256, 257));
  EXPECT_LT(place(1), place(255)) << "interposed, not appended";
}

TEST(run_order, SC_05_the_order_is_the_same_every_time) {
  test::in_run_order const undisturbed;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(order_of(258), order_of(258));
}

TEST(run_order, SC_08_a_woken_waiter_runs_before_three_that_were_spawned_earlier) {
  test::in_run_order const undisturbed;
  run_at(1, [] {
    std::vector<std::string> order;
    wait_group signal;
    signal.add(1);
    wait_group all;
    all.go([&] {
      signal.wait();
      order.emplace_back("woken");
    });
    thrum::yield();  // it waits now
    for (int i = 0; i < 3; ++i) all.go([&, i] { order.push_back("g" + std::to_string(i)); });
    signal.done();
    all.wait();
    EXPECT_EQ(order, (std::vector<std::string>{"woken", "g0", "g1", "g2"}));
  });
}

TEST(run_order, SC_10_three_that_log_yield_and_log_take_turns) {
  test::in_run_order const undisturbed;
  run_at(1, [] {
    std::vector<std::string> order;
    wait_group all;
    for (int i = 0; i < 3; ++i) {
      all.go([&, i] {
        order.push_back("a" + std::to_string(i));
        thrum::yield();
        order.push_back("b" + std::to_string(i));
      });
    }
    all.wait();
    EXPECT_EQ(order, (std::vector<std::string>{"a2", "a0", "a1", "b2", "b0", "b1"}));
  });
}

TEST(run_order, go_and_done_never_switch) {
  test::in_run_order const undisturbed;
  run_at(1, [] {
    int ran = 0;
    wait_group all;
    for (int i = 0; i < 300; ++i) all.go([&] { ++ran; });
    EXPECT_EQ(ran, 0) << "T06: not even when the queue overflows";
    all.wait();
    EXPECT_EQ(ran, 300);
  });
}

}  // namespace
}  // namespace thrum
