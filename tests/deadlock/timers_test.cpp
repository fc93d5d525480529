// Timers and deadlock (DL-04): a pending timer is no deadlock, a stopped one does not hide it.
#include "deadlock/deadlock.h"
#include "support/scale.h"
#include <thrum/thrum.h>

#include <chrono>
#include <cstdlib>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

class time_deadlock : public deadlock_test {};

TEST_F(time_deadlock, DL04_everything_blocked_but_one_timer_pending_is_none) {
  for (int const procs : {1, 4}) {
    auto const child = [procs] {
      int const rounds = static_cast<int>(scaled(100, 5));
      thrum::run(
          [rounds] {
            for (int i = 0; i < rounds; ++i) {
              wait_group gate;
              gate.add(1);
              switch (i % 4) {
                case 0: after_func(20ms, [&] { gate.done(); }); break;
                case 1:
                  go([&] {
                    sleep_for(20ms);
                    gate.done();
                  });
                  break;
                case 2:
                  go([&] {
                    if (after(20ms).recv()) gate.done();
                  });
                  break;
                default:
                  go([&] {
                    ticker k(10ms);
                    if (k.c().recv() && k.c().recv()) gate.done();
                  });
              }
              gate.wait();
            }
          },
          {.max_procs = procs});
      std::exit(0);
    };
    EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
  }
}

TEST_F(time_deadlock, DL04_a_sleeping_main_is_none) {
  EXPECT_EXIT(
      {
        thrum::run([] { sleep_for(200ms); });
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(time_deadlock, DL04_after_the_last_timer_went_off) {
  for (int const procs : {1, 2, 8}) {
    EXPECT_FATAL(thrum::run(
                     [] {
                       after_func(10ms, [] {});
                       timer t(20ms);
                       wait_for_ever();
                     },
                     {.max_procs = procs}),
                 DEADLOCK "goroutine 1 \\[waiting: wait group\\]");
  }
}

TEST_F(time_deadlock, DL04_a_stopped_timer_does_not_count) {
  for (int const procs : {1, 2, 8}) {
    EXPECT_FATAL(thrum::run(
                     [] {
                       timer t(1h);
                       t.stop();
                       wait_for_ever();
                     },
                     {.max_procs = procs}),
                 DEADLOCK);
  }
}

// The timekeeper sleeps for an hour when the timer is stopped: it is told.
TEST_F(time_deadlock, DL04_a_timer_that_is_stopped_while_it_is_watched_does_not_hide_it) {
  for (int const procs : {1, 2, 8}) {
    EXPECT_FATAL(thrum::run(
                     [] {
                       timer t(1h);
                       func_timer f = after_func(2h, [] {});
                       wait_group others;
                       others.go([&] {
                         sleep_for(20ms);  // all Ps are idle meanwhile
                         t.stop();
                         f.stop();
                         wait_for_ever();
                       });
                       others.wait();
                     },
                     {.max_procs = procs}),
                 DEADLOCK "goroutine 1 \\[waiting: wait group\\]");
  }
}

TEST_F(time_deadlock, DL04_nor_one_whose_channel_is_gone) {
  EXPECT_FATAL(thrum::run([] {
                 { auto const dropped = after(1h); }
                 wait_for_ever();
               }),
               DEADLOCK);
}

}  // namespace
}  // namespace thrum::test
