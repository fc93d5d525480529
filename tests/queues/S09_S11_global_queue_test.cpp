// S09, S10, S11: when the global queue gets its turn, and how much of it, on the running scheduler.
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/slices.h"
#include <thrum/thrum.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using test::inject_all;
using test::make_unqueued;
using test::run_with;
using test::this_p;
using test::this_sched;

std::uint32_t tick() { return this_p().schedtick.load(rt::relaxed); }

TEST(global_turn, S09_a_global_goroutine_runs_within_61_ticks_of_a_p_that_is_kept_busy_locally) {
  test::in_run_order const undisturbed;
  run_with({.max_procs = 1}, [] {
    test::leave_m0();
    for (int start = 0; start < 61; start += 7) {  // wherever the tick stands
      for (int i = 0; i < start; ++i) thrum::yield();
      bool over = false;
      wait_group busy;
      for (int i = 0; i < 3; ++i) {
        busy.go([&] {
          while (!over) thrum::yield();
        });
      }
      std::uint32_t began = 0;
      std::uint32_t ran = 0;
      rt::g_list list;
      list.push_back(make_unqueued([&] {
        ran = tick();
        over = true;
      }));
      inject_all(list, test::inject_from::nowhere);
      began = tick();
      busy.wait();
      EXPECT_LE(ran - began, 61U);
      EXPECT_EQ(ran % 61, 1U) << "in the turn that follows every 61st tick";
    }
  });
}

TEST(global_turn, S09_each_turn_takes_exactly_one) {
  test::in_run_order const undisturbed;
  run_with({.max_procs = 1}, [] {
    test::leave_m0();
    std::vector<std::uint32_t> ran_at;
    bool over = false;
    wait_group busy;
    for (int i = 0; i < 3; ++i) {
      busy.go([&] {
        while (!over) thrum::yield();
      });
    }
    rt::g_list list;
    for (int i = 0; i < 4; ++i) {
      list.push_back(make_unqueued([&] {
        ran_at.push_back(tick());
        over = ran_at.size() == 4;
      }));
    }
    inject_all(list, test::inject_from::nowhere);
    busy.wait();
    ASSERT_EQ(ran_at.size(), 4U);
    for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(ran_at[i] - ran_at[i - 1], 61U);
  });
}

TEST(search_order, S10_local_goroutines_run_before_those_of_the_global_queue) {
  test::in_run_order const undisturbed;
  run_with({.max_procs = 1}, [] {
    test::leave_m0();
    test::stay_clear_of_the_global_turn(20);
    std::vector<std::string> order;
    wait_group all;
    all.add(3);
    rt::g_list list;
    for (int i = 0; i < 3; ++i) {
      list.push_back(make_unqueued([&, i] {
        order.push_back("global" + std::to_string(i));
        all.done();
      }));
    }
    inject_all(list, test::inject_from::nowhere);
    for (int i = 0; i < 3; ++i) all.go([&, i] { order.push_back("local" + std::to_string(i)); });
    all.wait();
    EXPECT_EQ(order, (std::vector<std::string>{"local2", "local0", "local1", "global0", "global1", "global2"}));
  });
}

struct batch_case {
  std::uint32_t length;
  int capacity;
  std::uint32_t batch;
};

class global_batches : public testing::TestWithParam<batch_case> {};

TEST_P(global_batches, S11_an_empty_p_takes_its_share_and_runs_the_first_of_it) {
  test::in_run_order const undisturbed;
  std::uint32_t const length = GetParam().length;
  std::uint32_t const batch = GetParam().batch;
  run_with({.max_procs = 1, .local_queue_capacity = GetParam().capacity}, [length, batch] {
    test::leave_m0();
    test::stay_clear_of_the_global_turn(20);
    std::uint32_t in_run_queue = 0;
    std::uint32_t in_global = 0;
    std::vector<std::uint32_t> order;
    wait_group all;
    all.add(length);
    rt::g_list list;
    for (std::uint32_t i = 0; i < length; ++i) {
      list.push_back(make_unqueued([&, i] {
        if (order.empty()) {
          in_run_queue = this_p().queue.size();
          in_global = this_sched().global_size.load(rt::relaxed);
        }
        order.push_back(i);
        all.done();
      }));
    }
    inject_all(list, test::inject_from::nowhere);
    all.wait();
    EXPECT_EQ(in_run_queue, batch - 1);
    EXPECT_EQ(in_global, length - batch);
    ASSERT_EQ(order.size(), length);
    for (std::uint32_t i = 0; i < batch && i < 10; ++i) EXPECT_EQ(order[i], i) << "in order";
  });
}

INSTANTIATE_TEST_SUITE_P(of, global_batches,
                         testing::Values(batch_case{1, 256, 1}, batch_case{3, 4, 2}, batch_case{1000, 256, 128},
                                         batch_case{100, 256, 100}),
                         [](auto const& one) {
                           return std::to_string(one.param.length) + "_capacity_" + std::to_string(one.param.capacity);
                         });

}  // namespace
}  // namespace thrum
