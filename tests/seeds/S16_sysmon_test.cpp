// S16, as far as sysmon goes today: it watches over what the scheduler puts off (wake.h, timekeeper.h).
#include "support/channels.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::run_at;
using test::spin_until;
using test::this_p;
using test::this_sched;

// The wake-up for a goroutine in runnext is put off, since its readier will block. This one does not.
TEST(sysmon, S16_a_goroutine_in_runnext_beside_an_idle_p_is_rescued) {
  for (int const procs : {2, 8}) {
    run_at(procs, [] {
      chan<int> const c;
      std::atomic<bool> received{false};
      go([&] {
        static_cast<void>(c.recv());
        received = true;
      });
      ASSERT_TRUE(test::wait_until_receivers(c, 1));
      rt::Sched& s = this_sched();
      ASSERT_TRUE(spin_until([&] { return s.idle_procs.load(rt::relaxed) == s.options.procs - 1; }));
      c.send(1);
      EXPECT_TRUE(spin_until([&] { return received.load(); })) << "without a switch on this P";
      EXPECT_GT(this_p().wakes_at_once.load(rt::relaxed), 0U) << "the P is told not to put it off for a while";
    });
  }
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
