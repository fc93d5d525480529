// S13: how many search, how a burst spreads, and that an idle program rests.
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/switches.h"
#include "support/tries.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::run_at;
using test::spin_until;
using test::this_p;
using test::this_sched;

class bursts : public test::at_every_width {};

// SC-14: no goroutine ever yields, so each must have a P of its own. Only the chain of wake-ups can have provided these
// Ps.
TEST_P(bursts, S13_SC_14_a_burst_of_n_ready_goroutines_ends_up_on_n_ps) {
  test::without_slices const uninterrupted;  // another could begin on the P of one whose slice is over
  for (std::int64_t round = 0; round < test::scaled(20, 3); ++round) {
    run([&] {
      std::atomic<int> running{0};
      std::vector<int> on(static_cast<std::size_t>(procs()), -1);
      wait_group all;
      for (int i = 1; i < procs(); ++i) {
        all.go([&, i] {
          on[static_cast<std::size_t>(i)] = this_p().id;
          ++running;
          EXPECT_TRUE(spin_until([&] { return running == procs(); }));
        });
      }
      on[0] = this_p().id;
      ++running;
      ASSERT_TRUE(spin_until([&] { return running == procs(); }));
      // A thread that sleeps in the kernel loses its P, and sanitizers have locks of their own to sleep on.
      if (!rt::with_tsan && !rt::with_asan) {
        EXPECT_EQ(std::set<int>(on.begin(), on.end()).size(), on.size()) << "one P each";
      }
      all.wait();
    });
  }
}

// One call wakes the crowd, so it comes to the Ps as a list and not one by one (S39).
TEST_P(bursts, S13_S39_a_crowd_that_is_released_at_once_spreads_as_well) {
  for (std::int64_t round = 0; round < test::scaled(20, 3); ++round) {
    run([&] {
      std::atomic<int> running{0};
      std::atomic<int> waiting{0};
      wait_group gate;
      gate.add(1);
      wait_group all;
      for (int i = 1; i < procs(); ++i) {
        all.go([&] {
          ++waiting;
          gate.wait();
          ++running;
          EXPECT_TRUE(spin_until([&] { return running == procs(); }));
        });
      }
      ASSERT_TRUE(test::wait_until([&] { return waiting == procs() - 1; }));
      for (int i = 0; i < 10; ++i) thrum::yield();
      gate.done();
      ++running;
      ASSERT_TRUE(spin_until([&] { return running == procs(); }));
      all.wait();
    });
  }
}

THRUM_AT_EVERY_WIDTH(bursts);

// --- an idle program ---

struct usage {
  std::int64_t cpu_us;
  long switches;
};

usage used() {
  rusage now{};
  ::getrusage(RUSAGE_SELF, &now);
  auto const us = [](timeval const& t) { return std::int64_t{t.tv_sec} * 1'000'000 + t.tv_usec; };
  return {us(now.ru_utime) + us(now.ru_stime), now.ru_nvcsw};
}

class idle_program : public test::at_every_width {};

// What the program uses in two seconds in which no goroutine is runnable.
usage used_in_two_idle_seconds(int procs) {
  usage idle{};
  run_at(procs, [&] {
    wait_group all;
    for (int i = 0; i < 50; ++i) all.go([] { thrum::yield(); });  // threads there are
    all.wait();
    EXPECT_TRUE(test::wait_until([procs] {  // until the others lie down: that they do so is no part of it
      sleep_for(50ms);
      return this_sched().idle.count() == procs - 1 && this_sched().idle.spinning() == 0;
    }));
    long const watchdogs = test::voluntary_switches(test::counted_threads::watchdog);  // costs more than all the rest
    usage const before = used();
    sleep_for(2s);
    usage const after = used();
    idle.cpu_us = after.cpu_us - before.cpu_us;
    idle.switches =
        after.switches - before.switches - (test::voluntary_switches(test::counted_threads::watchdog) - watchdogs);
  });
  return idle;
}

// SS-07. A busy machine may keep a thread from going to rest, so only one of several tries has to succeed.
TEST_P(idle_program, S13_SS_07_uses_no_cpu) {
  test::delays_only const quiet;
  std::int64_t const cpu_us_max = 2'000 * test::slowness();
  long const switches_max = 10L * test::slowness();
  auto const seen = test::in_one_of(
      8, [] { return used_in_two_idle_seconds(procs()); },
      [=](usage const& u) { return u.cpu_us <= cpu_us_max && u.switches <= switches_max; });
  EXPECT_LE(seen.cpu_us, cpu_us_max);
  EXPECT_LE(seen.switches, switches_max);
}

THRUM_AT_EVERY_WIDTH(idle_program);

}  // namespace
}  // namespace thrum
