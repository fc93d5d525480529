// sleep_for, sleep_until, clock.
#include "core/current.h"
#include "core/sched.h"
#include "os/clock.h"
#include "os/fault.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/go.h>
#include <thrum/runtime.h>
#include <thrum/time.h>
#include <thrum/wait_group.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

class sleeping : public at_every_width {};
THRUM_AT_EVERY_WIDTH(sleeping);

TEST_P(sleeping, S27_never_shorter_than_asked_for) {
  run([] {
    for (auto const d : {1ns, 1000ns, 300'000ns, 3'000'000ns}) {
      auto const before = clock::now();
      sleep_for(d);
      EXPECT_GE(clock::now() - before, d);
    }
  });
}

TEST_P(sleeping, S27_until_a_moment_of_any_clock) {
  run([] {
    auto const soon = clock::now() + 2ms;
    sleep_until(soon);
    EXPECT_GE(clock::now(), soon);
    auto const by_the_steady_clock = std::chrono::steady_clock::now() + 2ms;
    sleep_until(by_the_steady_clock);
    EXPECT_GE(std::chrono::steady_clock::now(), by_the_steady_clock);
    auto const by_the_wall_clock = std::chrono::system_clock::now() + 2ms;
    sleep_until(by_the_wall_clock);
    EXPECT_GE(std::chrono::system_clock::now(), by_the_wall_clock);
  });
}

TEST_P(sleeping, TM07_a_time_that_is_over_returns_at_once_and_leaves_the_goroutine_where_it_is) {
  run([] {
    auto const parks = [] {
      std::uint64_t sum = 0;
      for (auto const& p : this_sched().procs) sum += p->counters.parks();
      return sum;
    };
    std::uint64_t const before = parks();
    sleep_for(0s);
    sleep_for(-1s);
    sleep_for(std::chrono::nanoseconds::min());
    sleep_for(std::chrono::hours::min());
    sleep_until(clock::now());
    sleep_until(clock::time_point::min());
    sleep_until(std::chrono::system_clock::now() - 1h);
    EXPECT_EQ(parks(), before);
  });
}

// With several Ps they may overtake each other on the way to the list.
TEST(sleeping_at_one_p, S27_sleepers_wake_in_the_order_of_their_times) {
  in_run_order const undisturbed;
  run_at(1, [] {
    bool were_in_time = false;
    for (auto delay = 20ms; !were_in_time; delay *= 2) {
      ASSERT_LT(delay, 10s);
      std::vector<int> order;
      wait_group all;
      auto const start = clock::now() + delay;
      for (int const i : {3, 0, 4, 1, 2}) {
        all.go([&order, start, i] {
          sleep_until(start + i * 1us);
          order.push_back(i);
        });
      }
      auto const all_sleep = [] { return waiting_for(rt::wait_reason::sleep) == 5; };
      static_cast<void>(wait_until([&] { return all_sleep() || clock::now() >= start; }));
      were_in_time = all_sleep() && clock::now() < start;
      all.wait();
      if (were_in_time) {
        EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
      }
    }
  });
}

TEST_P(sleeping, S27_a_goroutine_that_sleeps_says_so) {
  run([] {
    auto const start = clock::now();
    rt::atomic<rt::G*> sleeper{nullptr};
    wait_group all;
    all.go([&] {
      sleeper.store(&this_g(), rt::relaxed);
      sleep_for(30ms);
    });
    // In a heap, whose lock tells us what it wrote before.
    bool const seen = wait_until([&] { return timers_of_all().entries != 0 || clock::now() - start > 30ms; });
    if (seen && clock::now() - start < 30ms) {
      EXPECT_EQ(sleeper.load(rt::relaxed)->status.load(rt::relaxed), rt::g_status::waiting);
      EXPECT_EQ(sleeper.load(rt::relaxed)->waits_for, rt::wait_reason::sleep);
    }
    all.wait();
  });
}

// At P=1 no thread is made meanwhile that would miss the memory.
TEST(sleeping_without_memory, T10_no_memory_for_a_timer_is_an_exception_and_nothing_else) {
  run_at(1, [] {
    leave_m0();
    rt::os::inject_fault(rt::os::call::mmap, ENOMEM, 0, rt::os::fault_for_good);
    bool thrown = false;
    try {
      sleep_for(1ms);
    } catch (std::bad_alloc const&) {
      thrown = true;
    }
    rt::os::clear_faults();
    EXPECT_TRUE(thrown);
    sleep_for(1ms);
  });
}

TEST(sleeping_thread, a_thread_that_is_no_goroutine_sleeps_as_a_thread) {
  auto const before = clock::now();
  sleep_for(2ms);
  EXPECT_GE(clock::now() - before, 2ms);
  sleep_until(clock::now() + 2ms);
  EXPECT_GE(clock::now() - before, 4ms);
}

TEST(durations, TM07_conversions_neither_overflow_nor_shorten) {
  using detail::to_ns;
  using limits = std::numeric_limits<std::int64_t>;
  EXPECT_EQ(to_ns(1ns), 1);
  EXPECT_EQ(to_ns(3h), std::int64_t{3} * 3600 * 1'000'000'000);
  EXPECT_EQ(to_ns(std::chrono::nanoseconds::max()), limits::max());
  EXPECT_EQ(to_ns(std::chrono::nanoseconds::min()), limits::min());
  EXPECT_EQ(to_ns(std::chrono::hours::max()), limits::max());
  EXPECT_EQ(to_ns(std::chrono::hours::min()), limits::min());
  EXPECT_EQ(to_ns(std::chrono::duration<std::uint64_t>(limits::max())), limits::max());
  EXPECT_EQ(to_ns(std::chrono::duration<std::uint8_t>(200)), 200'000'000'000);
  EXPECT_EQ(to_ns(std::chrono::duration<int, std::pico>(1)), 1) << "rounded up";
  EXPECT_EQ(to_ns(std::chrono::duration<int, std::pico>(2000)), 2);
  EXPECT_EQ(to_ns(std::chrono::duration<int, std::pico>(-1500)), -1);
  EXPECT_EQ(to_ns(std::chrono::duration<double>(0.5)), 500'000'000);
  EXPECT_EQ(to_ns(std::chrono::duration<double, std::nano>(0.25)), 1);
  EXPECT_EQ(to_ns(std::chrono::duration<double>(1e300)), limits::max());
  EXPECT_EQ(to_ns(std::chrono::duration<double>(-1e300)), limits::min());
  EXPECT_EQ(to_ns(std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN())), 0);
  EXPECT_EQ(to_ns(std::chrono::duration<float>(std::numeric_limits<float>::infinity())), limits::max());
  EXPECT_EQ(to_ns(std::chrono::duration<int, std::ratio<1, 3>>(1)), 333'333'334);
}

TEST(clock, is_steady_and_reads_the_monotonic_clock) {
  static_assert(clock::is_steady);
  static_assert(std::chrono::is_clock_v<clock>);
  std::int64_t const before = rt::os::monotonic_ns();
  std::int64_t const now = clock::now().time_since_epoch().count();
  EXPECT_LE(before, now);
  EXPECT_LE(now, rt::os::monotonic_ns());
}

}  // namespace
}  // namespace thrum::test
