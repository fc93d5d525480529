// Deadlock: no goroutine can ever run (DL-01, S20). The program reports that, lists which goroutine waits for what, and
// ends with code 2.
#include "deadlock/deadlock.h"

#include "base/atomic.h"
#include "support/fatal.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include <thrum/go.h>
#include <thrum/mutex.h>
#include <thrum/once.h>
#include <thrum/run.h>
#include <thrum/runtime.h>
#include <thrum/wait_group.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

namespace thrum::test {
namespace {

// The deadlock, and two entries of its list in whichever order.
#define BOTH(one, other) DEADLOCK "((" one ".*\n(.*\n)*" other ")|(" other "\n*(.*\n)*" one "))"

class deadlock : public deadlock_test {};

TEST_F(deadlock, DL01_main_waits_for_a_wait_group) {
  for (int const procs : {1, 2, 8, 64}) {
    EXPECT_FATAL(thrum::run(wait_for_ever, {.max_procs = procs}),
                 "thrum: fatal error: all goroutines are asleep - deadlock!\ngoroutine 1 \\[waiting: wait group\\]");
  }
}

TEST_F(deadlock, DL01_main_waits_for_a_mutex) {
  EXPECT_FATAL(thrum::run([] {
                 mutex m;
                 m.lock();
                 m.lock();
               }),
               DEADLOCK "goroutine 1 \\[waiting: mutex\\]");
}

TEST_F(deadlock, DL01_main_waits_for_a_once) {
  EXPECT_FATAL(thrum::run([] {
                 once o;
                 o.call([&] { o.call([] {}); });
               }),
               DEADLOCK "goroutine 1 \\[waiting: once\\]");
}

TEST_F(deadlock, DL01_main_joins_one_that_waits_for_ever) {
  EXPECT_FATAL(thrum::run(
                   [] {
                     auto child = spawn([] {
                       this_goroutine::set_name("sleeper");
                       wait_for_ever();
                     });
                     for (int i = 0; i < 10; ++i) yield();
                     child.join();
                   },
                   {.max_procs = 1}),
               BOTH("goroutine 1 \\[waiting: join\\]", "goroutine [0-9]+ \\[waiting: wait group\\] sleeper"));
}

TEST_F(deadlock, DL01_a_child_joined_in_place_waits_for_ever) {
  EXPECT_FATAL(thrum::run([] { spawn(wait_for_ever).join(); }, {.max_procs = 1}),
               BOTH("goroutine 1 \\[hosting\\]", "goroutine [0-9]+ \\[waiting: wait group\\]"));
}

// The last one falls asleep long after main did, on another P.
TEST_F(deadlock, DL01_after_much_work_on_all_Ps) {
  EXPECT_FATAL(thrum::run(
                   [] {
                     mutex held;
                     held.lock();
                     wait_group ended;
                     for (int i = 0; i < 100; ++i) {
                       ended.go([&, i] {
                         for (int k = 0; k < 50 * i; ++k) yield();
                         if (i == 99) held.lock();
                       });
                     }
                     ended.wait();
                   },
                   {.max_procs = 8}),
               DEADLOCK);
}

// It is the program's deadlock, not the first run's: a goroutine left behind by an earlier run does not count.
TEST_F(deadlock, DL01_in_the_second_run) {
  EXPECT_FATAL(
      {
        thrum::run([] {
          go(wait_for_ever);
          for (int i = 0; i < 10; ++i) yield();
        });
        std::fputs("first run over\n", stderr);
        thrum::run(wait_for_ever);
      },
      "first run over\n.*" DEADLOCK);
}

class deadlocks : public fatal_test, public testing::WithParamInterface<int> {
 protected:
  [[nodiscard]] static int procs() { return GetParam(); }
};
THRUM_AT_EVERY_WIDTH(deadlocks);

TEST_P(deadlocks, DL_01_S20_the_waiting_goroutines_are_listed_with_their_reasons_and_names) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  EXPECT_FATAL(thrum::run(
                   [] {
                     this_goroutine::set_name("boss");
                     mutex locked;
                     locked.lock();
                     std::atomic<int> begun{0};
                     for (int i = 0; i < 3; ++i) {
                       go([&] {
                         this_goroutine::set_name("stuck");
                         ++begun;
                         locked.lock();
                       });
                     }
                     while (begun < 3) yield();
                     wait_for_ever();
                   },
                   {.max_procs = procs()}),
               BOTH("goroutine 1 \\[waiting: wait group\\] boss",
                    "(goroutine [0-9]+ \\[waiting: mutex\\] stuck.*\n(.*\n)*){3}"));
}

TEST_P(deadlocks, DL_01_S20_also_after_the_others_have_gone_to_sleep_long_before_main) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  EXPECT_FATAL(thrum::run(
                   [] {
                     for (int i = 0; i < 20; ++i) go([] {});
                     rt::Sched const& s = this_sched();
                     // main keeps its P, the others find nothing more
                     if (!spin_until([&] { return s.idle.count() == s.procs.size() - 1; })) std::_Exit(1);
                     wait_for_ever();
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
        thrum::run(wait_for_ever, {.max_procs = procs()});
      },
      testing::ExitedWithCode(0), "^$");
}

TEST_P(deadlocks, S20_detection_can_be_turned_off) {
  EXPECT_EXIT(
      {
        ::alarm(1);
        thrum::run(wait_for_ever, {.max_procs = procs(), .deadlock_detection = false});
      },
      testing::KilledBySignal(SIGALRM), "^$");
}

// --- no false alarm ---

class no_deadlock : public at_every_width {};
THRUM_AT_EVERY_WIDTH(no_deadlock);

// In a child process, where no watchdog silences the report: all but one goroutine sleep most of the time, and threads
// fall asleep and are started all the time.
TEST_P(no_deadlock, DL01_no_false_alarm_while_one_still_runs) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  int const rounds = static_cast<int>(scaled(5000, 200));
  auto const child = [&] {
    thrum::run(
        [&] {
          for (int i = 0; i < rounds; ++i) {
            wait_group a;
            wait_group b;
            a.add(1);
            b.add(1);
            go([&] {
              a.wait();
              b.done();
            });
            go([&] {
              for (int k = i % 200; k > 0; --k) rt::cpu_relax();
              a.done();
            });
            b.wait();
          }
        },
        {.max_procs = procs()});
    std::exit(0);
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
}

// A goroutine always runs or will run, so there must be no false alarm. The watchdog of the test's own run functions
// would hide an alarm, so the test calls thrum::run.
TEST_P(no_deadlock, S20_no_false_alarm_while_goroutines_park_and_wake_each_other) {
  for (int round = 0; round < 200; ++round) {
    thrum::run(
        [] {
          wait_group all;
          for (int i = 0; i < 4; ++i) {
            all.go([] {
              wait_group inner;
              inner.go([] { yield(); });
              inner.wait();
            });
          }
          all.wait();
        },
        {.max_procs = procs()});
  }
}

// A thread sleeps in the kernel in an unannounced call. Its P is taken and is idle like all others, but this is no
// deadlock, because the goroutine will continue when the call returns.
TEST(no_deadlock_beside_calls, S20_T04_they_were_not_announced_and_all_others_wait) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (int const procs : {1, 2}) {
    auto const child = [procs] {
      constexpr int rounds_max = 100;
      thrum::run(
          [procs] {
            for (int i = 0; i < rounds_max && read_stats().unannounced == 0; ++i) {
              wait_group all;
              for (int k = 0; k < procs; ++k) all.go([] { ::usleep(100'000); });
              all.wait();
            }
            std::exit(read_stats().unannounced > 0 ? 0 : 1);
          },
          {.max_procs = procs});
    };
    EXPECT_EXIT(child(), testing::ExitedWithCode(0), "") << procs;
  }
}

}  // namespace
}  // namespace thrum::test
