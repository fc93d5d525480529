// LT-*, DL-02, DL-07, S24: goroutines that are wired to their threads.
#include "core/current.h"
#include "os/thread.h"
#include "support/child_test.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::leave_m0;
using test::run_at;
using test::this_g;

bool thread_exists(int tid) { return ::access(("/proc/self/task/" + std::to_string(tid)).c_str(), F_OK) == 0; }

class locked_threads : public test::at_every_width {};
THRUM_AT_EVERY_WIDTH(locked_threads);

TEST_P(locked_threads, LT01_locks_nest) {
  run([] {
    lock_os_thread();
    lock_os_thread();
    EXPECT_EQ(this_g().lock_depth, 2);
    unlock_os_thread();
    EXPECT_EQ(this_g().lock_depth, 1);
    EXPECT_TRUE(this_g().detour.is_locked);
    unlock_os_thread();
    EXPECT_FALSE(this_g().detour.is_locked);
    EXPECT_EQ(this_g().only_m, nullptr);
    unlock_os_thread();  // one too many does nothing
    EXPECT_EQ(this_g().lock_depth, 0);
  });
}

TEST_P(locked_threads, LT02_one_that_is_locked_sends_yields_and_sleeps) {
  run([] {
    chan<int> out;
    auto locked = spawn([&] {
      lock_os_thread();
      int const tid = rt::os::current_tid();
      for (int i = 0; i < 10; ++i) out.send(i);
      for (int i = 0; i < 10; ++i) thrum::yield();
      for (int i = 0; i < 10; ++i) sleep_for(1ms);
      EXPECT_EQ(rt::os::current_tid(), tid);
    });  // ends still locked
    for (int i = 0; i < 10; ++i) EXPECT_EQ(out.recv(), i);
    locked.join();
  });
}

TEST_P(locked_threads, S24_it_stays_on_its_thread_and_no_other_goroutine_comes_there) {
  run([] {
    std::atomic<bool> stop{false};
    std::mutex guard;
    std::set<int> others;
    wait_group all;
    for (int i = 0; i < 4; ++i) {
      all.go([&] {
        while (!stop) {
          {
            std::lock_guard const hold(guard);
            others.insert(rt::os::current_tid());
          }
          thrum::yield();
        }
      });
    }
    std::vector<int> tids;
    latch all_are_locked(3);  // one that has ended leaves its thread to the others
    wait_group locked;
    for (int i = 0; i < 3; ++i) {
      locked.go([&] {
        os_thread_lock const lock;
        int const mine = rt::os::current_tid();
        all_are_locked.arrive_and_wait();
        {
          std::lock_guard const hold(guard);
          tids.push_back(mine);
          others.clear();  // the goroutines that were here before
        }
        for (std::int64_t turn = 0; turn < test::scaled(200, 20); ++turn) {
          if (turn % 10 == 0) sleep_for(50us);
          thrum::yield();
          ASSERT_EQ(rt::os::current_tid(), mine);
        }
        std::lock_guard const hold(guard);
        EXPECT_FALSE(others.contains(mine));
      });
    }
    locked.wait();
    EXPECT_EQ(std::set<int>(tids.begin(), tids.end()).size(), tids.size());
    stop = true;
    all.wait();
  });
}

TEST_P(locked_threads, S24_main_stays_on_the_first_thread) {
  int const callers = rt::os::current_tid();
  run([&] {
    os_thread_lock const lock;
    EXPECT_EQ(rt::os::current_tid(), callers);
    for (int i = 0; i < 20; ++i) {
      spawn([] { thrum::yield(); }).join();
      sleep_for(100us);
      thrum::yield();
      ASSERT_EQ(rt::os::current_tid(), callers);
    }
  });
}

TEST_P(locked_threads, S24_two_that_are_locked_hand_a_value_to_and_fro) {
  run([] {
    chan<int> there;
    chan<int> back;
    auto const echo = [&] {
      lock_os_thread();
      for (int v : there) back.send(v + 1);
      back.close();
    };
    auto other = spawn(echo);
    lock_os_thread();
    for (int i = 0; i < 100; ++i) {
      there.send(i);
      ASSERT_EQ(back.recv(), i + 1);
    }
    there.close();
    other.join();
    unlock_os_thread();
  });
}

TEST_P(locked_threads, S24_a_system_call_comes_back_to_the_same_thread) {
  run([] {
    wait_group all;
    for (int i = 0; i < 4; ++i) {
      all.go([] {
        os_thread_lock const lock;
        int const mine = rt::os::current_tid();
        for (int turn = 0; turn < 50; ++turn) {
          blocking([] { ::usleep(10); }, turn % 2 == 0 ? blocking_hint::long_call : blocking_hint::may_be_short);
          ASSERT_EQ(rt::os::current_tid(), mine);
        }
      });
    }
    all.wait();
  });
}

TEST_P(locked_threads, LT04_a_thread_ends_with_the_goroutine_that_was_locked_to_it) {
  run([] {
    for (std::int64_t i = 0; i < test::scaled(20, 2); ++i) {
      std::vector<int> tids(test::is_long() ? 100 : 10);  // at once
      wait_group all;
      for (int& tid : tids) {
        all.go([&tid] {
          lock_os_thread();
          tid = rt::os::current_tid();
          thrum::yield();
        });
      }
      all.wait();
      for (int const tid : tids) {
        EXPECT_TRUE(test::wait_until([&] { return !thread_exists(tid); })) << tid;
      }
    }
  });
}

TEST_P(locked_threads, T07_a_child_that_ends_locked_leaves_its_joiner_on_another_thread) {
  run([] {
    auto host = spawn([] {
      int tid = 0;
      auto child = spawn([&tid] {
        lock_os_thread();
        tid = rt::os::current_tid();
      });
      child.join();
      EXPECT_TRUE(test::wait_until([&] { return !thread_exists(tid); }));
    });
    thrum::yield();
    host.join();
  });
}

TEST_P(locked_threads, T07_a_child_that_main_joins_in_place_is_not_locked_to_the_first_thread) {
  int const callers = rt::os::current_tid();
  run([&] {
    spawn([&] {
      lock_os_thread();
      EXPECT_NE(rt::os::current_tid(), callers);
      thrum::yield();
    }).join();
  });
}

TEST_P(locked_threads, S24_new_threads_have_neither_the_mask_nor_the_affinity_of_a_locked_one) {
  run([] {
    cpu_set_t all{};
    ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
    auto locked = spawn([&] {
      lock_os_thread();
      cpu_set_t one{};
      CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &one);
      ::sched_setaffinity(0, sizeof one, &one);
      sigset_t blocked{};
      ::sigemptyset(&blocked);
      ::sigaddset(&blocked, SIGUSR2);
      ::pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
      wait_group made;
      latch all_are_locked(8);
      for (int i = 0; i < 8; ++i) {
        made.go([&] {
          os_thread_lock const lock;
          all_are_locked.arrive_and_wait();  // so each of them has a thread of its own
          cpu_set_t mine{};
          ::sched_getaffinity(0, sizeof mine, &mine);
          EXPECT_TRUE(CPU_EQUAL(&mine, &all));
          sigset_t mask{};
          ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
          EXPECT_EQ(::sigismember(&mask, SIGUSR2), 0);
        });
      }
      made.wait();
    });
    locked.join();
  });
}

TEST_P(locked_threads, S24_goroutines_that_wait_locked_do_not_hold_the_end_up) {
  run([] {});  // the watchdog's thread is there from now on
  int const before = rt::os::count_process_threads();
  for (int round = 0; round < 5; ++round) {
    run([] {
      std::atomic<int> waiting{0};
      for (int i = 0; i < 4; ++i) {
        go([&] {
          lock_os_thread();
          ++waiting;
          static_cast<void>(chan<int>(nullptr).recv());
        });
      }
      ASSERT_TRUE(test::wait_until([&] { return waiting == 4; }));
    });
    EXPECT_TRUE(test::wait_until([&] { return rt::os::count_process_threads() <= before; }));
  }
}

TEST(locked_threads_and_stops, LT05_locks_and_deaths_of_threads_race_with_stops_of_the_world) {
  for (std::int64_t round = 0; round < test::scaled(test::is_long() ? 100 : 20, 2); ++round) {
    run_at(4, [] {
      std::atomic<bool> stop{false};
      wait_group stopper;
      stopper.go([&] {
        for (int i = 0; !stop; ++i) set_max_procs(3 + i % 2);
      });
      for (int pair = 0; pair < (test::is_long() ? 10 : 5); ++pair) {
        wait_group all;
        for (int i = 0; i < 10; ++i) {
          all.go([i] {
            lock_os_thread();
            if (i % 2 == 0) thrum::yield();
          });  // and its thread ends
        }
        all.wait();
      }
      stop = true;
      stopper.wait();
    });
  }
}

TEST_P(locked_threads, S24_the_end_finds_locked_goroutines_that_come_and_go) {
  for (std::int64_t round = 0; round < test::scaled(50, 5); ++round) {
    run([round] {
      for (int i = 0; i < 4; ++i) {
        go([] {
          lock_os_thread();
          for (;;) thrum::yield();
        });
      }
      sleep_for(std::chrono::microseconds(200 + 37 * (round % 14)));
    });
  }
}

class locked_threads_fatal : public test::child_test {};

TEST_F(locked_threads_fatal, DL02_main_waits_locked) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  for (int const procs : {1, 2, 8}) {
    EXPECT_FATAL(
        thrum::run(
            [] {
              lock_os_thread();
              static_cast<void>(chan<int>().recv());
            },
            {.max_procs = procs}),
        "all goroutines are asleep - deadlock!\n(.*\n)*goroutine 1 \\[waiting: chan receive, locked to thread\\]");
  }
}

TEST_F(locked_threads_fatal, DL02_another_one_waits_locked) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  for (int const procs : {1, 2, 8}) {
    EXPECT_FATAL(thrum::run(
                     [] {
                       go([] {
                         lock_os_thread();
                         static_cast<void>(chan<int>(nullptr).recv());
                       });
                       static_cast<void>(chan<int>().recv());
                     },
                     {.max_procs = procs}),
                 "all goroutines are asleep - deadlock!");
  }
}

TEST_F(locked_threads_fatal, DL07_S21_locked_threads_pass_the_limit) {
  EXPECT_FATAL(thrum::run(
                   [] {
                     for (int i = 0; i < 100; ++i) {
                       go([] {
                         lock_os_thread();
                         static_cast<void>(chan<int>(nullptr).recv());
                       });
                     }
                     for (;;) sleep_for(1ms);
                   },
                   {.max_procs = 2, .max_threads = 10}),
               "exceeds 10-thread limit");
}

TEST_F(locked_threads_fatal, DL07_the_limit_can_be_changed) {
  run_at(2, [] {
    EXPECT_EQ(set_max_threads(500), 10'000);
    EXPECT_EQ(set_max_threads(2'147'483'647), 500);
    EXPECT_EQ(set_max_threads(10'000), 2'147'483'647);
    EXPECT_THROW(set_max_threads(0), std::invalid_argument);
    EXPECT_THROW(set_max_threads(-5), std::invalid_argument);
  });
  EXPECT_FATAL(thrum::run(
                   [] {
                     spawn([] { lock_os_thread(); }).join();
                     leave_m0();
                     set_max_threads(1);
                   },
                   {.max_procs = 2}),
               "exceeds the 1-thread limit");
}

}  // namespace
}  // namespace thrum
