// A program that stands still at the limit of threads, because threads sleep in calls that were not announced, is ended
// by sysmon (S21, sys/limit_watch.h).
#include "base/atomic.h"
#include "os/fault.h"
#include "os/thread.h"
#include "sched/queues.h"
#include "support/child_test.h"
#include "support/goroutines.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include "support/with_debug.h"
#include <thrum/go.h>
#include <thrum/run.h>
#include <thrum/runtime.h>
#include <thrum/time.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <stdexcept>

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum::test {
namespace {

class at_the_thread_limit : public child_test {};

// Sleeps in an unannounced call, for good.
void never_come_back() {
  for (;;) ::pause();
}

// The first thread that main leaves may not run other goroutines, the second one sleeps without a P, and the third one
// computes. With two Ps, one is idle, and the thread that sleeps would use it if it came back.
void leave_no_thread_for_main(void (*sleep)(), void (*compute)(), rt::atomic<bool> const& is_over) {
  go(sleep);
  rt::Sched& s = this_sched();
  EXPECT_TRUE(spin_until([&] { return s.unannounced.without_p() != 0; }));
  rt::atomic<bool> computes{false};
  go([&] {
    computes.store(true, rt::relaxed);
    while (!is_over.load(rt::relaxed)) compute();
  });
  EXPECT_TRUE(spin_until([&] { return computes.load(rt::relaxed); }));
  go([] {});
  while (!is_over.load(rt::relaxed)) yield();
}

TEST_F(at_the_thread_limit, S21_passing_the_limit_ends_the_program_beside_a_thread_that_sleeps_for_good) {
  with_debug const soon("limitwait=200");
  for (int const procs : {3, 2}) {
    static rt::atomic<bool> never{false};
    EXPECT_FATAL(thrum::run([] { leave_no_thread_for_main(never_come_back, rt::os::yield_thread, never); },
                            {.max_procs = procs, .max_threads = 3}),
                 "^thrum: .*exceeds 3-thread limit.*max_threads");
  }
}

// The threads that sleep keep all Ps, because no other thread could use them. Main's timer is due.
void leave_all_ps_to_sleepers() {
  thrum::run(
      [] {
        for (int i = 0; i < 4; ++i) go(never_come_back);
        sleep_for(std::chrono::milliseconds(1));
      },
      {.max_procs = 2, .max_threads = 4});
}

TEST_F(at_the_thread_limit, S21_passing_the_limit_ends_the_program_beside_threads_that_keep_all_ps) {
  with_debug const soon("limitwait=200");
  EXPECT_FATAL(leave_all_ps_to_sleepers(), "^thrum: .*exceeds 4-thread limit.*max_threads");
}

TEST_F(at_the_thread_limit, S21_passing_the_limit_ends_the_program_also_without_membarrier) {
  with_debug const soon("limitwait=200");
  EXPECT_FATAL(
      {
        rt::os::inject_fault(rt::os::call::membarrier, ENOSYS, 0, rt::os::fault_for_good);
        leave_all_ps_to_sleepers();
      },
      "^thrum: .*exceeds 4-thread limit.*max_threads");
}

// With the usual patience, of 10 s.
TEST(below_the_thread_limit, S21_a_thread_that_comes_back_from_a_sleep_is_waited_for) {
  delays_only const quiet;
  for (int round = 0; round < 3; ++round) {
    static int ends[2];
    static rt::atomic<bool> is_back{false};
    is_back.store(false, rt::relaxed);
    ASSERT_EQ(::pipe(ends), 0);
    run_with({.max_procs = 2, .max_threads = 3}, [] {
      auto const sleep_for_a_while = [] {
        char byte = 0;
        EXPECT_EQ(::read(ends[0], &byte, 1), 1);  // not announced
        is_back.store(true, rt::relaxed);
      };
      auto const compute_and_wake = [] {
        compute_for(std::chrono::milliseconds(100));
        EXPECT_EQ(::write(ends[1], "x", 1), 1);
      };
      leave_no_thread_for_main(sleep_for_a_while, compute_and_wake, is_back);
    });
    ::close(ends[0]);
    ::close(ends[1]);
  }
}

// A child that was joined in place leaves an entry in the run queue, which no thread need run.
TEST(below_the_thread_limit, S21_an_entry_that_is_left_behind_needs_no_thread) {
  with_debug const soon("limitwait=50");
  run_with({.max_procs = 1, .max_threads = 3}, [] {
    go(never_come_back);
    sleep_for(std::chrono::milliseconds(1));  // main goes on on the third thread
    auto first = spawn([] {});
    auto second = spawn([] {});
    first.join();
    second.join();
    EXPECT_TRUE(rt::work_anywhere(this_sched()));
    ::usleep(500'000);  // not announced. Main keeps the P, because there is no other thread
  });
}

// The goroutine that panics has the third thread. Its on_panic function computes ten times as long as the program may
// stand still.
TEST_F(at_the_thread_limit, S21_an_on_panic_function_is_not_cut_off_at_the_limit_while_it_computes) {
  with_debug const soon("limitwait=50");
  EXPECT_FATAL(
      {
        static rt::atomic<bool> never{false};
        on_panic([](panic_info const&) {
          compute_for(std::chrono::milliseconds(500));
          std::fputs("the last words are complete\n", stderr);
        });
        thrum::run(
            [] {
              leave_no_thread_for_main(
                  never_come_back, [] { throw std::runtime_error("boom"); }, never);
            },
            {.max_procs = 2, .max_threads = 3});
      },
      "panic: boom\n(.*\n)*the last words are complete\n");
}

// Main and a goroutine take the second and the third thread away from the goroutine that panics. Without a thread its
// on_panic function cannot go on.
TEST_F(at_the_thread_limit, S21_the_program_ends_if_its_on_panic_function_waits_for_a_thread) {
  with_debug const soon("limitwait=200");
  EXPECT_FATAL(
      {
        on_panic([](panic_info const&) {
          for (;;) sleep_for(std::chrono::milliseconds(1));
        });
        thrum::run(
            [] {
              go(never_come_back);
              go([] { throw std::runtime_error("boom"); });
              sleep_for(std::chrono::milliseconds(1));
              never_come_back();
            },
            {.max_procs = 1, .max_threads = 3});
      },
      "panic: boom\n(.*\n)*thrum: program exceeds 3-thread limit.*waiting for a thread");
}

}  // namespace
}  // namespace thrum::test
