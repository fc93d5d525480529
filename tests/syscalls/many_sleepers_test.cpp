// Many threads sleep in the kernel in unannounced calls, beside few that work. What sysmon does about them is bounded.
#include "core/sched.h"
#include "os/clock.h"
#include "os/thread.h"
#include "os/thread_state.h"
#include "support/child.h"
#include "support/gate.h"
#include "support/goroutines.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/tid_of.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto usual_slices = 10'000us;

int tid_of_sysmon() { return tid_of("thrum-sysmon"); }

// Calls `beside` when `count` goroutines are in a plain read, each with its thread.
template <class F>
void with_sleepers(int count, F beside) {
  gate kernel;
  std::atomic<int> begun{0};
  wait_group all;
  for (int i = 0; i < count; ++i) {
    all.go([&] {
      ++begun;
      kernel.wait();
    });
  }
  while (begun < count) sleep_for(1ms);
  beside();
  for (int i = 0; i < count; ++i) kernel.open();
  all.wait();
}

TEST(many_sleepers, T04_two_thousand_unannounced_calls_begin_soon_at_one_p) {
  if (rt::with_tsan || rt::with_asan || emulated()) GTEST_SKIP() << "2,000 threads are too many here";
  with_slices_of const slices(usual_slices);
  run_at(1, [] {
    ASSERT_TRUE(wait_until([] { return tid_of_sysmon() != 0; }));
    int const sysmon = tid_of_sysmon();
    with_sleepers(2000, [&] {
      // 0.1 s is usual. With work for each sleeper in each look it would be some 40 s, and so would the test.
      EXPECT_LT(std::chrono::nanoseconds(rt::os::thread_cpu_ns(sysmon)), 4s);
    });
  });
}

TEST(many_sleepers, T04_cost_sysmon_little_while_they_sleep) {
  if (rt::with_tsan || rt::with_asan || emulated()) GTEST_SKIP() << "1,000 threads are too many here";
  with_slices_of const slices(usual_slices);
  run_at(2, [] {
    with_sleepers(1000, [] {
      int const sysmon = tid_of_sysmon();
      ASSERT_NE(sysmon, 0);
      std::array<double, 5> shares{};
      for (double& share : shares) {
        std::int64_t const before_ns = rt::os::thread_cpu_ns(sysmon);
        auto const since = clock::now();
        while (clock::now() - since < 200ms) sleep_for(5ms);  // so that it does not sleep deeply
        auto const used_ns = static_cast<double>(rt::os::thread_cpu_ns(sysmon) - before_ns);
        share = used_ns / static_cast<double>(std::chrono::nanoseconds(clock::now() - since).count());
      }
      std::sort(shares.begin(), shares.end());
      EXPECT_LT(shares[2], 0.1) << "of a CPU, as a rule";
    });
  });
}

TEST(many_sleepers, T04_one_that_computes_among_them_gets_a_p) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  with_slices_of const slices(usual_slices);
  run_at(1, [] {
    rt::Sched& s = this_sched();
    constexpr int sleepers = 200;
    with_sleepers(sleepers, [&] {
      gate kernel;
      std::atomic<bool> stop{false};
      wait_group all;
      all.go([&] {
        kernel.wait();
        while (!stop) rt::cpu_relax();
      });
      while (s.unannounced.without_p() <= sleepers) sleep_for(1ms);
      kernel.open();
      while (s.unannounced.without_p() > sleepers) sleep_for(1ms);
      stop = true;
      all.wait();
    });
  });
}

// Without an M that could take the P, sysmon has no reason to look repeatedly.
TEST(many_sleepers, T04_at_the_limit_of_threads_sysmon_does_not_look_all_the_time) {
  constexpr int threads = 6;
  with_slices_of const slices(usual_slices);
  run_with({.max_procs = 1, .max_threads = threads}, [] {
    rt::Sched& s = this_sched();
    gate kernel;
    std::atomic<int> begun{0};
    std::atomic<std::uint64_t> looks{0};
    std::atomic<bool> is_counted{false};
    std::thread counts([&] {
      while (begun < threads - 1) std::this_thread::sleep_for(1ms);  // M0 is none of them
      std::uint64_t const before = s.sysmon.looks.load(rt::relaxed);
      std::this_thread::sleep_for(500ms);
      looks = s.sysmon.looks.load(rt::relaxed) - before;
      is_counted = true;
      for (int i = 0; i < threads + 2; ++i) kernel.open();
    });
    wait_group all;
    for (int i = 0; i < threads + 2; ++i) {
      all.go([&] {
        ++begun;
        kernel.wait();
      });
    }
    all.wait();
    EXPECT_TRUE(is_counted);
    EXPECT_LT(looks, 500ms / 20us / 10);
    counts.join();
  });
}

}  // namespace
}  // namespace thrum::test
