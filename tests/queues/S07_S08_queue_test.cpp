// S07, S08: the local queue and runnext on the running scheduler, at P=1, where every order is exact.
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/slices.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using test::run_with;
using test::this_p;

proc_stats p0() { return read_stats().procs[0]; }

TEST(local_queue, S07_with_capacity_4_the_sixth_waiting_goroutine_overflows_not_the_fifth) {
  test::in_run_order const undisturbed;
  run_with({.max_procs = 1, .local_queue_capacity = 4}, [] {
    wait_group all;
    for (int i = 0; i < 5; ++i) all.go([] {});
    EXPECT_EQ(p0().overflows, 0U);
    EXPECT_EQ(p0().queued, 5U) << "four in the run queue and one in runnext";
    EXPECT_EQ(read_stats().global_queue, 0U);
    all.go([] {});
    EXPECT_EQ(p0().overflows, 1U);
    EXPECT_EQ(p0().queued, 3U);
    EXPECT_EQ(read_stats().global_queue, 3U) << "half of the run queue, and the one that was kicked out of runnext";
    all.wait();
  });
}

TEST(local_queue, S07_with_capacity_256_the_258th_overflows_with_129) {
  test::in_run_order const undisturbed;
  run_with({.max_procs = 1}, [] {
    wait_group all;
    for (int i = 0; i < 257; ++i) all.go([] {});
    EXPECT_EQ(p0().overflows, 0U);
    EXPECT_EQ(p0().queued, 257U);
    all.go([] {});
    EXPECT_EQ(p0().overflows, 1U);
    EXPECT_EQ(read_stats().global_queue, 129U);
    EXPECT_EQ(p0().queued, 129U);
    all.wait();
  });
}

TEST(local_queue, S07_nothing_is_lost_however_small_the_run_queue) {
  for (int capacity = 4; capacity <= 256; capacity *= 2) {
    for (int const procs : {1, 2, 8}) {
      std::atomic<int> ran{0};
      run_with({.max_procs = procs, .local_queue_capacity = capacity}, [&] {
        wait_group all;
        for (int i = 0; i < 3000; ++i) {
          all.go([&] {
            thrum::yield();
            ++ran;
          });
        }
        all.wait();
      });
      EXPECT_EQ(ran.load(), 3000) << "capacity " << capacity << " P " << procs;
    }
  }
}

// --- runnext ---

TEST(runnext, S08_the_newest_runs_first_and_the_kicked_out_in_order_of_coming) {
  test::in_run_order const undisturbed;
  run_with({.max_procs = 1}, [] {
    test::stay_clear_of_the_global_turn(10);
    std::vector<int> order;
    wait_group all;
    for (int i = 0; i < 4; ++i) all.go([&, i] { order.push_back(i); });
    all.wait();
    EXPECT_EQ(order, (std::vector<int>{3, 0, 1, 2}));
  });
}

TEST(runnext, S08_a_pair_that_wakes_each_other_runs_in_one_time_slice) {
  test::in_run_order const undisturbed;
  run_with({.max_procs = 1}, [] {
    test::leave_m0();
    constexpr int rounds = 500;
    std::vector<wait_group> turns(2 * rounds + 1);
    for (auto& turn : turns) turn.add(1);
    wait_group all;
    std::uint32_t tick_begin = 0;
    std::uint32_t tick_end = 0;
    for (int const first : {0, 1}) {
      all.go([&, first] {
        for (int turn = first; turn < 2 * rounds; turn += 2) {
          turns[static_cast<std::size_t>(turn)].wait();
          if (turn == 2) tick_begin = this_p().schedtick.load(rt::relaxed);
          if (turn == 2 * rounds - 1) tick_end = this_p().schedtick.load(rt::relaxed);
          turns[static_cast<std::size_t>(turn) + 1].done();
        }
      });
    }
    thrum::yield();  // both wait now
    turns[0].done();
    all.wait();
    EXPECT_EQ(tick_end, tick_begin) << "no goroutine began a slice of its own in " << 2 * rounds << " switches";
  });
}

TEST(runnext, S09_a_yielder_begins_a_slice_each_time) {
  test::in_run_order const undisturbed;
  run_with({.max_procs = 1}, [] {
    test::leave_m0();
    std::uint32_t const before = this_p().schedtick.load(rt::relaxed);
    wait_group all;
    for (int i = 0; i < 2; ++i) {
      all.go([] {
        for (int n = 0; n < 100; ++n) thrum::yield();
      });
    }
    all.wait();
    std::uint32_t const ticks = this_p().schedtick.load(rt::relaxed) - before;
    EXPECT_GE(ticks, 200U);
    EXPECT_LE(ticks, 210U);
  });
}

}  // namespace
}  // namespace thrum
