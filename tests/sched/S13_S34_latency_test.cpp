// S13, and read_stats of the API: how long Ms searched for work, and how long goroutines waited for their turn.
#include "core/sched.h"
#include "os/clock.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <numeric>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::this_g;
using test::this_p;
using test::this_sched;

std::uint64_t spinning_ns() {
  std::uint64_t sum = 0;
  for (proc_stats const& p : read_stats().procs) sum += p.spinning_ns;
  return sum;
}

class latency : public test::at_every_width {};

TEST_P(latency, S13_the_time_that_threads_search_is_counted_and_is_no_more_than_there_was) {
  run([&] {
    std::int64_t const begin_ns = rt::os::monotonic_ns();
    std::uint64_t const before = spinning_ns();
    int rounds = 0;
    // On a busy machine the one that is to search may be long in coming.
    EXPECT_TRUE(test::wait_until([&] {
      wait_group all;
      for (int i = 0; i < 2 * procs(); ++i) all.go([] { thrum::yield(); });
      all.wait();
      sleep_for(100us);  // an M without work searches for some, and gives up
      bool const is_counted = procs() == 1 || spinning_ns() > before;  // with one P there is no P to steal from
      return ++rounds >= 20 && is_counted;
    }));
    std::uint64_t const spent = spinning_ns() - before;
    auto const passed = static_cast<std::uint64_t>(rt::os::monotonic_ns() - begin_ns);
    EXPECT_LE(spent, passed * static_cast<std::uint64_t>(procs())) << "one thread per P at most";
  });
}

TEST_P(latency, a_few_of_those_that_yield_park_and_begin_are_timed) {
  test::with_own_procs const fixed;
  run([&] {
    std::uint64_t counts[3];
    {
      wait_group all;
      for (int i = 0; i < 8 * std::min(procs(), 8); ++i) {  // so many that hardly one ever has a P to itself
        all.go([] {
          for (int n = 0; n < 10'000; ++n) thrum::yield();
        });
      }
      all.wait();
      counts[0] = read_stats().ready_to_run.count;
    }
    {
      chan<int> there;
      chan<int> back;
      go([=] {
        for (int n = 0; n < 20'000; ++n) back.send(*there.recv());
      });
      for (int n = 0; n < 20'000; ++n) {
        there.send(n);
        EXPECT_EQ(back.recv(), n);
      }
      counts[1] = read_stats().ready_to_run.count;
    }
    for (int batch = 0; batch < 200; ++batch) {
      wait_group all;
      for (int i = 0; i < 100; ++i) all.go([] {});
      all.wait();
    }
    stats const now = read_stats();
    counts[2] = now.ready_to_run.count;
    if (procs() <= 2) {  // with more each may have a P to itself, and has no turn to wait for
      EXPECT_GT(counts[0], 0U) << "80,000 yields for each P";
      EXPECT_GT(counts[1], counts[0]) << "40,000 waits for a channel";
      EXPECT_GT(counts[2], counts[1]) << "20,000 goroutines";
    }
    EXPECT_LT(counts[2], 10'000U) << "and not all of them";
    durations const& all = now.ready_to_run;
    EXPECT_EQ(std::accumulate(all.by_time.begin(), all.by_time.end(), std::uint64_t{0}), all.count);
    EXPECT_GE(all.total, all.longest);
    EXPECT_EQ(all.longest > 0ns, all.count > 0);
  });
}

THRUM_AT_EVERY_WIDTH(latency);

// Compute for so long without giving the P away.
void hold_the_p_for(std::chrono::nanoseconds length) {
  std::int64_t const until_ns = rt::os::monotonic_ns() + length.count();
  while (rt::os::monotonic_ns() < until_ns) {
  }
}

TEST(latency_at_one_p, what_is_measured_begins_when_it_becomes_runnable_and_ends_when_it_runs) {
  test::without_slices const uninterrupted;
  test::run_at(1, [] {
    test::leave_m0();
    std::atomic<rt::G*> waiter{nullptr};
    wait_group event;
    event.add(1);
    wait_group all;
    all.go([&] {
      waiter = &this_g();
      event.wait();
    });
    ASSERT_TRUE(test::wait_until([&] { return test::goroutine_is_parked_on(&event); }));
    rt::G& g = *waiter.load();
    hold_the_p_for(30ms);  // it waits for the event: that does not count
    {
      rt::runtime_mark const mark;
      g.time_next_turn();
    }
    durations const before = read_stats().ready_to_run;
    std::int64_t const begin_ns = rt::os::monotonic_ns();
    event.done();
    hold_the_p_for(20ms);  // and now for its turn
    all.wait();
    std::int64_t const passed_ns = rt::os::monotonic_ns() - begin_ns;
    durations const after = read_stats().ready_to_run;
    ASSERT_GE(after.count, before.count + 1);
    EXPECT_GE(after.longest, 20ms);
    EXPECT_LE((after.total - before.total).count(), passed_ns);
    EXPECT_FALSE(g.detour.is_timed) << "once";
  });
}

TEST(latency_at_one_p, one_that_is_locked_to_its_thread_is_not_measured) {
  test::run_at(1, [] {
    std::atomic<rt::G*> waiter{nullptr};
    wait_group event;
    event.add(1);
    wait_group all;
    all.go([&] {
      os_thread_lock const here;
      waiter = &this_g();
      event.wait();
      EXPECT_FALSE(this_g().detour.is_timed);
    });
    ASSERT_TRUE(test::wait_until([&] { return test::goroutine_is_parked_on(&event); }));
    {
      rt::runtime_mark const mark;
      waiter.load()->time_next_turn();
    }
    event.done();
    all.wait();
  });
}

}  // namespace
}  // namespace thrum
