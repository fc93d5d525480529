// S27: sleeping goroutines cost a timer, not a thread; while Ps are idle one thread keeps the time for all.
#include "os/fault.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/threads_at_work.h"
#include "support/tries.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::leave_m0;
using test::run_at;
using test::this_sched;

class rows_of_sleep : public test::at_every_width {};
THRUM_AT_EVERY_WIDTH(rows_of_sleep);

TEST_P(rows_of_sleep, S27_sleepers_are_entries_of_a_heap_and_no_threads) {
  test::delays_only const quiet;
  run([] {
    std::int64_t const count = test::scaled(20'000, 1000);
    bool were_seen = false;
    for (auto delay = 1s; !were_seen; delay *= 2) {  // on a busy machine the time may come before all of them sleep
      ASSERT_LT(delay, 20s) << "entries or threads at work were never as few";
      auto const due = clock::now() + delay;
      std::atomic<std::int64_t> early{0};
      wait_group all;
      for (std::int64_t i = 0; i < count; ++i) {
        all.go([&, due] {
          sleep_until(due);
          if (clock::now() < due) ++early;
        });
      }
      EXPECT_TRUE(test::wait_until([&] {
        were_seen = test::timers_of_all().entries == count && test::threads_at_work() <= procs() + 4;
        bool const is_due = clock::now() >= due;
        were_seen = were_seen && !is_due;
        return were_seen || is_due;
      }));
      all.wait();
      EXPECT_EQ(early, 0);
      EXPECT_EQ(test::timers_of_all().entries, 0U);
    }
  });
}

// An idle program with one sleeper: each sleep of the goroutine costs one sleep in the kernel, and no thread is woken.
TEST(rows_of_the_timekeeper, S27_one_sleeper_costs_one_futex_sleep_per_sleep_and_no_wake) {
  test::delays_only const quiet;
  run_at(1, [] {
    leave_m0();
    sleep_for(1ms);
    // One quiet interval out of many is enough, because sysmon looks at a thread that loses its CPU.
    EXPECT_TRUE(test::wait_until([] {
      constexpr int sleeps = 50;
      auto const before = clock::now();
      rt::os::count_calls();
      for (int i = 0; i < sleeps; ++i) sleep_for(1ms);
      auto const waits = rt::os::calls_made(rt::os::call::futex);
      auto const wakes = rt::os::calls_made(rt::os::call::futex_wake);
      rt::os::clear_faults();
      auto const of_sysmon = static_cast<std::uint64_t>((clock::now() - before) / 10ms) + 1;
      return waits <= sleeps + of_sysmon && wakes == 0;
    }));
  });
}

TEST_P(rows_of_sleep, S27_the_sleepers_thread_keeps_the_time_itself) {
  test::delays_only const quiet;
  run([] {
    leave_m0();
    EXPECT_TRUE(test::wait_until([] {  // until the Ms that searched for work have found none
      sleep_for(2ms);
      rt::Sched const& s = this_sched();
      return s.idle.count() == s.procs.size() - 1 && s.idle.spinning() == 0;
    }));
    auto const wakes = [] {
      std::uint64_t sum = 0;
      for (auto const& p : this_sched().procs) sum += p->counters.wakes.load(rt::relaxed);
      return sum;
    };
    constexpr int sleeps = 50;
    auto const wakes_of_sleeps = [&] {
      std::uint64_t const before = wakes();
      for (int i = 0; i < sleeps; ++i) sleep_for(1ms);
      return wakes() - before;
    };
    // Also sysmon starts an M, for a timer that the sleeper's thread gets no CPU to run.
    EXPECT_LE(test::in_one_of(5, wakes_of_sleeps, [](std::uint64_t woken) { return woken <= sleeps / 10U; }),
              sleeps / 10U)
        << "no other M is started for it";
  });
}

bool an_m_keeps_the_time() {
  test::lock_of_sched const guard(this_sched().lock);
  return this_sched().ms.timekeeper() != nullptr;
}

// An M that arms an earlier timer while all other Ps are idle makes sure that the timer is watched.
TEST(rows_of_the_timekeeper, S27_an_earlier_timer_is_not_overslept) {
  for (int const procs : {2, 8}) {
    run_at(procs, [] {
      timer distant(1h);
      // The timekeeper sleeps for an hour.
      ASSERT_TRUE(test::wait_until(an_m_keeps_the_time));
      std::atomic<bool> fired{false};
      after_func(1ms, [&] { fired = true; });
      EXPECT_TRUE(test::spin_until([&] { return fired.load(); })) << "we never leave our P";
    });
  }
}

// Returns false also if another thread is idle, or becomes idle in time: sysmon may have had one made.
bool takes_the_timekeeper() {
  bool is_taken = false;
  run_at(2, [&] {
    timer distant(1h);
    ASSERT_TRUE(test::wait_until(an_m_keeps_the_time));
    rt::Sched& s = this_sched();
    rt::M const* keeper = nullptr;
    {
      test::lock_of_sched const guard(s.lock);
      if (s.ms.first_idle() == nullptr) keeper = s.ms.timekeeper();
    }
    std::atomic<rt::M const*> ran_on{nullptr};
    go([&] { ran_on = rt::current_m(); });
    ASSERT_TRUE(test::spin_until([&] { return ran_on != nullptr; }));
    is_taken = ran_on == keeper;
  });
  return is_taken;
}

TEST(rows_of_the_timekeeper, S27_a_timekeeper_is_taken_when_no_other_thread_is_idle) {
  test::in_run_order const undisturbed;  // sysmon orders a spare thread before a slice is over
  EXPECT_TRUE(test::shows_in_some_try(takes_the_timekeeper));
}

TEST_P(rows_of_sleep, S27_no_clock_is_read_and_nothing_is_watched_without_timers) {
  run([] {
    sleep_for(1ms);
    wait_group all;
    for (int i = 0; i < 100; ++i) all.go([] { yield(); });
    all.wait();
    for (auto const& p : this_sched().procs) {
      EXPECT_FALSE(p->timers.any());
      EXPECT_EQ(p->timers.next_when(), rt::never_ns);
    }
  });
}

TEST_P(rows_of_sleep, S27_due_timers_are_counted) {
  run([] {
    constexpr std::uint64_t count = 100;
    wait_group all;
    for (std::uint64_t i = 0; i < count / 2; ++i) {
      all.go([] { sleep_for(1ms); });
      all.add(1);
      after_func(1ms, [&] { all.done(); });
    }
    all.wait();
    std::uint64_t run_there = 0;
    for (proc_stats const& p : read_stats().procs) run_there += p.timers_run;
    EXPECT_EQ(run_there, count);
  });
}

}  // namespace
}  // namespace thrum
