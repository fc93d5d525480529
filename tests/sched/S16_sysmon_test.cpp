// S16: how often sysmon looks, and which put-off wake-ups and timers it makes up for (wake.h, timekeeper.h). What it
// does with system calls and slices is tested in syscalls/S14_S17_syscalls_test.cpp and
// preemption/S18_S19_preemption_test.cpp.
#include "support/channels.h"
#include "support/gate.h"
#include "support/goroutines.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/tries.h"
#include "support/wait_until.h"
#include "support/with_debug.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::run_at;
using test::spin_until;
using test::this_p;
using test::this_sched;

// The wake-up for a goroutine in runnext is put off, because its waker usually blocks soon. In this test it does not
// block. Returns true if sysmon woke a P for the goroutine and told the waker's P not to put such wake-ups off for a
// while. The goroutine may also be found by an M that is just going to rest.
bool rescues_what_is_in_runnext() {
  chan<int> const c;
  std::atomic<bool> received{false};
  wait_group receiver;
  receiver.go([&] {
    static_cast<void>(c.recv());
    received = true;
  });
  EXPECT_TRUE(test::wait_until_receivers(c, 1));
  rt::Sched& s = this_sched();
  EXPECT_TRUE(spin_until([&] { return s.idle.count() == s.procs.size() - 1; }));
  c.send(1);
  EXPECT_TRUE(spin_until([&] { return received.load(); })) << "without a switch on this P";
  bool const is_told = this_p().wakes_at_once.load(rt::relaxed) > 0;
  receiver.wait();
  return is_told;
}

TEST(sysmon, S16_a_goroutine_in_runnext_beside_an_idle_p_is_rescued) {
  test::without_slices const uninterrupted;
  for (int const procs : {2, 8}) {
    run_at(procs, [] {
      int rounds = 0;
      while (!rescues_what_is_in_runnext()) ASSERT_LT(++rounds, 1000);
    });
  }
}

// SS-07: sysmon dozes once, and then sleeps until there is work. On a busy machine a thread may be kept from going to
// rest, and then sysmon looks at it. So one quiet interval out of many is enough.
TEST(sysmon, S16_SS_07_it_does_not_look_at_an_idle_program) {
  test::delays_only const quiet;
  for (int const procs : {1, 2, 8}) {
    run_at(procs, [] {
      rt::Sched& s = this_sched();
      auto const looks_while_asleep = [&] {
        std::uint64_t const before = s.sysmon.looks.load(rt::relaxed);
        sleep_for(200ms);
        return s.sysmon.looks.load(rt::relaxed) - before;  // 20 at its slowest pace, 10,000 at its fastest
      };
      int tries = 0;
      while (looks_while_asleep() > 5) ASSERT_LT(++tries, 50);
    });
  }
}

// Main waits in an unannounced call, for a key for example. Its P is taken although no other goroutine needs it (S17).
TEST(sysmon, S16_SS_07_it_does_not_look_at_a_program_that_sleeps_in_the_kernel) {
  test::delays_only const quiet;
  test::with_slices_of const slices(std::chrono::milliseconds(2));
  test::run_at(2, [] {
    rt::Sched& s = test::this_sched();
    test::gate kernel;
    std::atomic<bool> sleeps_deeply{false};
    std::thread opener([&] {
      sleeps_deeply = test::wait_until([&] {
        rt::os::lock_guard const guard(s.lock);
        return s.sysmon.is_in_deep_sleep();
      });
      kernel.open();
    });
    kernel.wait();
    blocking([&] { opener.join(); });
    EXPECT_TRUE(sleeps_deeply);
  });
}

// sysmon looks often at a busy program: every 20 us at first, and at least every 10 ms.
TEST(sysmon, S16_it_looks_at_a_busy_program) {
  run_at(2, [] {
    rt::Sched& s = this_sched();
    std::uint64_t const before = s.sysmon.looks.load(rt::relaxed);
    EXPECT_TRUE(spin_until([&] { return s.sysmon.looks.load(rt::relaxed) - before >= 10; }));
    EXPECT_GE(read_stats().sysmon_looks, 10U);
  });
}

// The times between `count` looks of sysmon, as seen by a goroutine that keeps a P busy and otherwise does nothing that
// sysmon could see. If the kernel kept the goroutine from running, there may have been several looks meanwhile, and
// each of them gets an equal share of the time.
std::vector<std::chrono::nanoseconds> times_between_looks(std::size_t count) {
  rt::Sched& s = this_sched();
  std::vector<std::chrono::nanoseconds> between;
  between.reserve(count);
  std::uint64_t looks = s.sysmon.looks.load(rt::relaxed);
  auto const looks_more = [&] {
    std::uint64_t now = looks;
    while (now == looks) now = s.sysmon.looks.load(rt::relaxed);
    return now - std::exchange(looks, now);
  };
  static_cast<void>(looks_more());
  for (auto last = clock::now(); between.size() < count;) {
    std::uint64_t const more = looks_more();
    auto const now = clock::now();
    between.insert(between.end(), more, (now - last) / static_cast<std::int64_t>(more));
    last = now;
  }
  return between;
}

bool is_in_deep_sleep(rt::Sched& s) {
  rt::os::lock_guard const guard(s.lock);
  return s.sysmon.is_in_deep_sleep();
}

// For fifty looks after sysmon was woken, the time is 20 us plus what the kernel adds to so short a sleep.
TEST(sysmon, S16_SS_07_it_looks_every_20_us_at_a_program_that_has_just_begun_to_work) {
  test::delays_only const quiet;
  auto const limit = 200us * test::slowness();
  auto const measure = [] {
    std::vector<std::chrono::nanoseconds> between;
    run_at(1, [&] {
      chan<int> const work;
      std::thread outside([&work, &s = this_sched()] {
        EXPECT_TRUE(spin_until([&] { return is_in_deep_sleep(s); }));
        work.send(1);
      });
      EXPECT_TRUE(work.recv());
      between = times_between_looks(40);
      blocking([&] { outside.join(); });
    });
    return test::spread_of(between);
  };
  auto const seen = test::in_one_of(20, measure, [=](test::spread const& s) { return s.median <= limit; });
  EXPECT_LE(seen.median, limit) << seen;
  EXPECT_GE(seen.median, 20us) << seen << ": it uses a CPU that it was not given";
}

// And later every 10 ms: not more often, and not more seldom, for as long as a P is busy.
TEST(sysmon, S16_SS_07_it_looks_every_10_ms_at_a_program_in_which_nothing_happens) {
  test::delays_only const quiet;
  auto const measure = [] {
    std::vector<std::chrono::nanoseconds> between;
    run_at(1, [&] {
      static_cast<void>(times_between_looks(50 + 10));  // until it is slow
      between = times_between_looks(30);
    });
    return test::spread_of(between);
  };
  auto const usual = test::slowness() == 1 ? 15ms : 50ms;
  auto const most = 100ms * test::slowness();
  auto const seen = test::in_one_of(
      8, measure, [=](test::spread const& s) { return s.median >= 9ms && s.median <= usual && s.longest <= most; });
  EXPECT_GE(seen.median, 9ms) << seen;
  EXPECT_LE(seen.median, usual) << seen;
  EXPECT_LE(seen.longest, most) << seen;
}

// If sysmon finds nothing to do, it looks less and less often, and in the end every 10 ms. After it has taken a P it
// looks every 20 us. On a busy machine it is not always fast then, but it is slow as a rule while it finds nothing.
TEST(sysmon, S16_SS_07_it_slows_down_and_is_fast_again_when_it_took_a_p) {
  test::delays_only const quiet;
  run_at(2, [] {
    rt::Sched& s = this_sched();
    std::atomic<bool> stop{false};
    wait_group busy;
    busy.go([&] {
      while (!stop) rt::cpu_relax();  // keeps its P, and no goroutine waits for the P
    });
    auto const time_of = [&](std::uint64_t looks) {
      auto const since = clock::now();
      std::uint64_t const before = s.sysmon.looks.load(rt::relaxed);
      EXPECT_TRUE(spin_until([&] { return s.sysmon.looks.load(rt::relaxed) - before >= looks; }));
      return clock::now() - since;
    };
    constexpr std::uint64_t until_it_is_slow = 50 + 10;
    constexpr std::uint64_t some = 10;
    int rounds = 0;
    int slow_rounds = 0;
    int fast_rounds = 0;
    for (; rounds < 5 || (fast_rounds == 0 && rounds < 50); ++rounds) {
      static_cast<void>(time_of(until_it_is_slow));
      auto const slow = time_of(some);  // 100 ms, at the least if nothing happens
      auto fast = slow;
      std::uint64_t const taken = s.sysmon.retaken.load(rt::relaxed);
      blocking([&] {  // with the other P busy, this one is wanted
        EXPECT_TRUE(spin_until([&] { return s.sysmon.retaken.load(rt::relaxed) != taken; }));
        fast = time_of(some);
      });
      if (slow >= 90ms) ++slow_rounds;
      if (slow >= 90ms && fast < slow / 5) ++fast_rounds;
    }
    EXPECT_GE(2 * slow_rounds, rounds);
    EXPECT_GT(fast_rounds, 0) << "of " << rounds;
    stop = true;
    busy.wait();
  });
}

// That a goroutine was preempted says nothing about the next one, so sysmon looks at the end of the next slice. It
// takes 50 looks for each slice to slow down. The goroutines count the looks that come at sysmon's fastest pace. While
// the kernel keeps a goroutine that computes from running, sysmon looks every 200 us, and these looks do not count.
TEST(sysmon, S16_loops_that_take_turns_do_not_make_it_look_often) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  test::with_slices_of const slices(10ms);
  run_at(1, [] {
    std::atomic<bool> stop{false};
    std::atomic<int> fast_looks{0};
    wait_group loops;
    for (int i = 0; i < 2; ++i) {
      loops.go([&, &link = this_sched().sysmon] {
        for (std::uint64_t last = 0; !stop.load(std::memory_order_relaxed);) {
          if (std::exchange(last, link.looks.load(rt::relaxed)) == last || link.is_slow()) continue;
          fast_looks.fetch_add(1, std::memory_order_relaxed);
        }
      });
    }
    auto const looks_for_each = [&] {
      int const seen_before = fast_looks;
      stats const before = read_stats();
      stats after = before;
      while (test::preempted(after) < test::preempted(before) + 10) {
        thrum::yield();
        after = read_stats();
      }
      return static_cast<double>(fast_looks - seen_before) /
             static_cast<double>(test::preempted(after) - test::preempted(before));
    };
    EXPECT_LT(test::in_one_of(10, looks_for_each, [](double looks) { return looks < 4; }), 4);
    stop = true;
    loops.wait();
  });
}

// Whether sysmon was seen in its deep sleep, in an idle program that sleeps at most `naps` times for 100 ms.
bool sleeps_deeply(int naps) {
  bool is_deep = false;
  run_at(2, [&] {
    rt::Sched& s = this_sched();
    std::atomic<bool> stop{false};
    std::thread watcher([&] {
      while (!stop && !is_deep) {
        is_deep = is_in_deep_sleep(s);
        std::this_thread::sleep_for(1ms);
      }
      stop = true;
    });
    EXPECT_TRUE(test::wait_until([&] { return s.sysmon.looks.load(rt::relaxed) > 0; }));  // it has begun
    for (int i = 0; i < naps && !stop; ++i) sleep_for(100ms);
    stop = true;
    blocking([&] { watcher.join(); });
  });
  return is_deep;
}

// A user who turns the trace on wants it of an idle program, too.
TEST(sysmon, S16_SS_07_it_never_sleeps_deeply_with_a_schedtrace) {
  test::delays_only const quiet;
  EXPECT_TRUE(sleeps_deeply(100));
  test::with_debug const meanwhile("schedtrace=3600000");
  testing::internal::CaptureStderr();
  EXPECT_FALSE(sleeps_deeply(3));
  EXPECT_EQ(testing::internal::GetCapturedStderr().find("SCHED "), 0U) << "one line, at the beginning";
}

// The sleeper leaves the watch of its timer to the goroutine that runs next on its P, for when that goroutine blocks.
// In this test it does not block.
TEST(sysmon, S16_a_timer_that_no_m_watches_is_rescued) {
  for (int const procs : {2, 8}) {
    run_at(procs, [] {
      chan<int> const c;
      std::atomic<bool> slept{false};
      wait_group all;
      all.go([&] {
        static_cast<void>(c.recv());
        EXPECT_TRUE(spin_until([&] { return slept.load(); }));
      });
      ASSERT_TRUE(test::wait_until_receivers(c, 1));
      all.go([&] {
        c.send(1);  // the receiver is next
        sleep_for(1ms);
        slept = true;
      });
      all.wait();
    });
  }
}

}  // namespace
}  // namespace thrum
