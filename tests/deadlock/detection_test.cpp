// DL-01: nothing can ever run again.
#include "support/fatal.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

namespace thrum {
namespace {

class deadlocks : public test::fatal_test, public testing::WithParamInterface<int> {
 protected:
  [[nodiscard]] static int procs() { return GetParam(); }
};

void wait_for_ever() {
  wait_group never;
  never.add(1);
  never.wait();
}

TEST_P(deadlocks, DL_01_S20_main_that_waits_for_ever_with_no_other_goroutine_alive) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  EXPECT_FATAL(run([] { wait_for_ever(); }, {.max_procs = procs()}),
               "thrum: fatal error: all goroutines are asleep - deadlock!\ngoroutine 1 \\[waiting: wait group\\]");
}

TEST_P(deadlocks, DL_01_S20_the_waiting_goroutines_are_listed_with_their_reasons_and_names) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  EXPECT_FATAL(run(
                   [] {
                     mutex locked;
                     locked.lock();
                     std::atomic<int> begun{0};
                     for (int i = 0; i < 3; ++i) {
                       thrum::go([&] {
                         this_goroutine::set_name("stuck");
                         ++begun;
                         locked.lock();
                       });
                     }
                     while (begun < 3) thrum::yield();
                     wait_for_ever();
                   },
                   {.max_procs = procs()}),
               "deadlock!\n(.*\n)*.*\\[waiting: mutex\\] stuck");
}

TEST_P(deadlocks, DL_01_S20_also_after_the_others_have_gone_to_sleep_long_before_main) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  EXPECT_FATAL(run(
                   [] {
                     for (int i = 0; i < 20; ++i) thrum::go([] {});
                     rt::Sched const& s = test::this_sched();
                     // main keeps its P, the others find nothing more
                     if (!test::spin_until([&] { return s.idle_procs.load(rt::relaxed) == s.procs.size() - 1; }))
                       std::_Exit(1);
                     wait_for_ever();
                   },
                   {.max_procs = procs()}),
               "all goroutines are asleep - deadlock!");
}

TEST_P(deadlocks, S20_main_left_by_goexit) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  EXPECT_FATAL(run(
                   [] {
                     thrum::go([] { thrum::yield(); });
                     goexit();
                   },
                   {.max_procs = procs()}),
               "thrum: fatal error: no goroutines \\(main called goexit\\) - deadlock!");
}

TEST_P(deadlocks, S20_two_that_wait_for_each_other) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  EXPECT_FATAL(run(
                   [] {
                     mutex a;
                     mutex b;
                     std::atomic<int> holding{0};
                     wait_group all;
                     all.go([&] {
                       a.lock();
                       ++holding;
                       while (holding < 2) thrum::yield();
                       b.lock();
                     });
                     all.go([&] {
                       b.lock();
                       ++holding;
                       while (holding < 2) thrum::yield();
                       a.lock();
                     });
                     all.wait();
                   },
                   {.max_procs = procs()}),
               "all goroutines are asleep - deadlock!");
}

TEST_P(deadlocks, T13_a_thread_that_thrum_did_not_make_silences_the_report) {
  EXPECT_EXIT(
      {
        std::thread([] {
          timespec const pause{.tv_sec = 0, .tv_nsec = 300'000'000};
          ::nanosleep(&pause, nullptr);
          ::_exit(0);
        }).detach();
        run([] { wait_for_ever(); }, {.max_procs = procs()});
      },
      testing::ExitedWithCode(0), "^$");
}

TEST_P(deadlocks, S20_detection_can_be_turned_off) {
  EXPECT_EXIT(
      {
        ::alarm(1);
        run([] { wait_for_ever(); }, {.max_procs = procs(), .deadlock_detection = false});
      },
      testing::KilledBySignal(SIGALRM), "^$");
}

THRUM_AT_EVERY_WIDTH(deadlocks);

class no_false_alarm : public test::at_every_width {};

// A goroutine always runs or will run, so there must be no false alarm. The watchdog of the test's own run functions
// would hide an alarm, so the test calls thrum::run.
TEST_P(no_false_alarm, S20_no_false_alarm_while_goroutines_park_and_wake_each_other) {
  for (int round = 0; round < 200; ++round) {
    thrum::run(
        [] {
          wait_group all;
          for (int i = 0; i < 4; ++i) {
            all.go([] {
              wait_group inner;
              inner.go([] { thrum::yield(); });
              inner.wait();
            });
          }
          all.wait();
        },
        {.max_procs = procs()});
  }
}

TEST_P(no_false_alarm, S20_no_false_alarm_beside_a_goroutine_in_a_blocking_call) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  thrum::run(
      [&] {
        wait_group all;
        std::atomic<bool> reads{false};
        all.go([&] {
          reads = true;
          char byte = 0;
          EXPECT_EQ(::read(ends[0], &byte, 1), 1);
        });
        if (max_procs() > 1) {
          EXPECT_TRUE(test::spin_until([&] { return reads.load(); }));
        }
        EXPECT_EQ(::write(ends[1], "x", 1), 1);
        all.wait();  // no other goroutine runs while it returns from the kernel
      },
      {.max_procs = procs()});
  ::close(ends[0]);
  ::close(ends[1]);
}

THRUM_AT_EVERY_WIDTH(no_false_alarm);

}  // namespace
}  // namespace thrum
