// T05: goroutines that compute for longer than a slice need a bounded number of threads.
#include "base/atomic.h"
#include "base/platform.h"
#include "core/sched.h"
#include "support/child.h"
#include "support/goroutines.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::compute_for;
using test::loop_for_ever;
using test::run_at;
using test::run_with;
using test::scaled;
using test::with_slices_of;

// In the long form as many and as long as the trap says, with slices as they are by default.
TEST(many_long_computations, T05_are_worked_off_by_a_bounded_number_of_threads) {
  bool const is_whole = test::is_long() && !rt::with_asan && !rt::with_tsan;
  std::int64_t const goroutines = is_whole ? 20'000 : scaled(400, 150);
  auto const each = is_whole ? 50ms : 3ms;
  with_slices_of const slices(is_whole ? 10'000us : 500us);
  run_at(2, [=] {
    int const bound = test::this_sched().pauses.max();
    wait_group all;
    std::atomic<int> most{0};
    for (std::int64_t i = 0; i < goroutines; ++i) {
      all.go([=] { test::compute_for(each); });
    }
    std::atomic<bool> over{false};
    wait_group looks;
    looks.go([&] {
      for (; !over; sleep_for(1ms)) most = std::max(most.load(), num_threads());
    });
    all.wait();
    over = true;
    looks.wait();
    EXPECT_LE(most, 2 * bound) << "of " << goroutines;
  });
}

// A goroutine is paused while it holds a lock. Another goroutine fills the run queue and then sleeps in the kernel for
// the lock. Returns how many goroutines of the run queue had run when the first goroutine continued.
int run_before_the_holder_of_the_lock() {
  constexpr int others = 10;
  int before_it = others;
  run_at(1, [&] {
    std::mutex shared;
    std::atomic<bool> is_wanted{false};
    std::atomic<int> ran{0};
    wait_group all;
    all.go([&] {
      all.go([&] {  // first in the queue once the slice of this one is over
        for (int i = 0; i < others; ++i) {
          all.go([&] { ++ran; });
        }
        is_wanted = true;
        std::lock_guard const lock(shared);
      });
      std::lock_guard const lock(shared);
      while (!is_wanted) rt::cpu_relax();
      before_it = ran;
    });
    all.wait();
    EXPECT_EQ(ran, others);
  });
  return before_it;
}

// The P of the goroutine that sleeps goes to the thread of the paused goroutine, before all goroutines in the queues.
// If the sleeper's slice ends before it sleeps, the queued goroutines run first.
TEST(many_long_computations, T05_the_holder_of_a_lock_goes_before_others_when_a_thread_sleeps_for_it) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  if (test::emulated()) GTEST_SKIP() << "the emulator's threads do not show where they sleep";
  with_slices_of const slices(5ms);
  constexpr int rounds = 9;
  int holder_was_first = 0;
  for (int i = 0; i < rounds; ++i) {
    if (run_before_the_holder_of_the_lock() == 0) ++holder_was_first;
  }
  EXPECT_GT(2 * holder_was_first, rounds);
}

TEST(many_long_computations, T05_each_starts_once_and_ends_once) {
  with_slices_of const slices(300us);
  run_at(2, [] {
    std::vector<std::atomic<int>> began(static_cast<std::size_t>(scaled(300, 100)));
    std::atomic<std::size_t> ended{0};
    wait_group all;
    for (auto& mine : began) {
      all.go([&] {
        ++mine;
        test::compute_for(2ms);
        ++ended;
      });
    }
    all.wait();
    EXPECT_EQ(ended, began.size());
    EXPECT_TRUE(std::all_of(began.begin(), began.end(), [](auto const& times) { return times == 1; }));
  });
}

TEST(many_long_computations, T05_no_goroutine_starves_at_the_limit_of_threads) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  with_slices_of const slices(500us);
  run_with({.max_procs = 1, .max_threads = 8}, [] {
    for (int i = 0; i < 20; ++i) go([] { loop_for_ever(); });
    for (int i = 0; i < 3; ++i) sleep_for(1ms);
    wait_group fresh;
    fresh.go([] {});
    fresh.wait();
    blocking([] { ::usleep(1000); });
    EXPECT_LE(read_stats().threads, 8);
  });
}

TEST(many_long_computations, T05_sleepers_beside_loops_do_not_end_the_program_at_the_limit_of_threads) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  with_slices_of const slices(500us);
  run_with({.max_procs = 2, .max_threads = 12}, [] {
    for (int i = 0; i < 4; ++i) go([] { loop_for_ever(); });
    wait_group sleepers;
    for (int i = 0; i < 8; ++i) {
      sleepers.go([] {
        for (int k = 0; k < 3; ++k) ::usleep(3000);  // an unannounced call
      });
    }
    sleepers.wait();
  });
}

TEST(many_long_computations, T05_without_a_thread_to_be_had_the_preemption_does_not_happen) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  with_slices_of const slices(1ms);
  run_with({.max_procs = 1, .max_threads = 2}, [] {
    wait_group all;
    for (int i = 0; i < 4; ++i) {
      all.go([] { test::compute_for(5ms); });
    }
    all.wait();
    EXPECT_LE(num_threads(), 2);
  });
}

}  // namespace
}  // namespace thrum
