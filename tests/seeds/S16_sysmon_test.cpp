// S16, as far as sysmon goes today: it watches over what the scheduler puts off (wake.h, timekeeper.h).
#include "support/channels.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::run_at;
using test::spin_until;
using test::this_p;
using test::this_sched;

// The wake-up for a goroutine in runnext is put off, since its readier will block. This one does not. True: sysmon rescued it,
// and told the P not to put such wake-ups off for a while. It may also be found by an M that is just going to rest.
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
  EXPECT_TRUE(spin_until([&] { return s.idle_procs.load(rt::relaxed) == s.procs.size() - 1; }));
  c.send(1);
  EXPECT_TRUE(spin_until([&] { return received.load(); })) << "without a switch on this P";
  bool const is_told = this_p().wakes_at_once.load(rt::relaxed) > 0;
  receiver.wait();
  return is_told;
}

TEST(sysmon, S16_a_goroutine_in_runnext_beside_an_idle_p_is_rescued) {
  for (int const procs : {2, 8}) {
    run_at(procs, [] {
      int rounds = 0;
      while (!rescues_what_is_in_runnext()) ASSERT_LT(++rounds, 1000);
    });
  }
}

// SS-07: it dozes once, and then sleeps until somebody has something to do. On a machine that has other things to do a thread
// may be kept from going to rest, and be looked at: so one quiet time out of many is enough.
TEST(sysmon, S16_SS_07_it_does_not_look_at_an_idle_program) {
  for (int const procs : {1, 2, 8}) {
    run_at(procs, [] {
      rt::Sched& s = this_sched();
      auto const looks_while_asleep = [&] {
        std::uint64_t const before = s.sysmon_looks.load(rt::relaxed);
        sleep_for(200ms);
        return s.sysmon_looks.load(rt::relaxed) - before;  // 20 at its slowest pace, 10,000 at its fastest
      };
      int tries = 0;
      while (looks_while_asleep() > 5) ASSERT_LT(++tries, 50);
    });
  }
}

// And it looks often at a busy one: every 20 us at first, every 10 ms at least.
TEST(sysmon, S16_it_looks_at_a_busy_program) {
  run_at(2, [] {
    rt::Sched& s = this_sched();
    std::uint64_t const before = s.sysmon_looks.load(rt::relaxed);
    EXPECT_TRUE(spin_until([&] { return s.sysmon_looks.load(rt::relaxed) - before >= 10; }));
    EXPECT_GE(read_stats().sysmon_looks, 10U);
  });
}

// The sleeper's timer is to be watched by whoever runs next, when that one blocks. This one does not.
TEST(sysmon, S16_a_timer_that_nobody_watches_is_rescued) {
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
