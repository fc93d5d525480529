// The signal that preempts (T15), and signals of the program beside it (T15, SS-08).
#include "base/atomic.h"
#include "os/pause_signal.h"
#include "os/thread.h"
#include "preemption/loops.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/tries.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <system_error>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::loop_for_ever;
using test::preempted;
using test::run_at;
using test::run_with;
using test::start_a_loop;
using test::with_slices_of;

std::atomic<int> urgent{0};

// Uses another signal number than usual, because an earlier test may have left a goroutine computing, and such a run
// keeps its number for good.
TEST(signals, T15_what_others_send_goes_to_the_programs_handler) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  struct sigaction mine {};
  struct sigaction before {};
  mine.sa_handler = [](int) { ++urgent; };
  ASSERT_EQ(::sigaction(SIGUSR1, &mine, &before), 0);
  urgent = 0;
  with_slices_of const slices(1ms);
  run_with({.max_procs = 1, .preempt_signal = SIGUSR1}, [] {
    std::atomic<bool> has_begun{false};
    std::atomic<bool> stop{false};
    wait_group all;
    all.go([&] {
      has_begun = true;
      while (!stop) rt::cpu_relax();
    });
    EXPECT_TRUE(test::wait_until([&] { return has_begun && preempted(read_stats()) > 0; }));
    EXPECT_EQ(urgent, 0);
    // The kernel merges two pending signals with the same number into one, and that may be thrum's.
    EXPECT_TRUE(test::wait_until([] {
      ::raise(SIGUSR1);
      return urgent > 0;
    }));
    EXPECT_EQ(urgent, 1);
    stop = true;
    all.wait();
  });
  EXPECT_EQ(urgent, 1);
  struct sigaction after {};
  ASSERT_EQ(::sigaction(SIGUSR1, &before, &after), 0);
  EXPECT_EQ(after.sa_handler, mine.sa_handler) << "handed back";
}

TEST(signals, T15_another_signal_may_be_chosen) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  with_slices_of const slices(1ms);
  run_with({.max_procs = 1, .preempt_signal = SIGUSR2}, [] {
    start_a_loop();
    EXPECT_TRUE(test::wait_until([] { return preempted(read_stats()) > 0; }));
  });
  EXPECT_THROW(run_with({.preempt_signal = 0}, [] {}), std::invalid_argument);
  EXPECT_THROW(run_with({.preempt_signal = SIGKILL}, [] {}), std::system_error);
}

TEST(signals, T15_a_caller_that_blocks_the_signal_gets_its_mask_back) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  sigset_t urg;
  sigset_t before;
  sigemptyset(&urg);
  sigaddset(&urg, SIGURG);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &urg, &before), 0);
  with_slices_of const slices(1ms);
  run_at(1, [] {
    std::atomic<bool> ran{false};
    go([&] { ran = true; });
    while (!ran) rt::cpu_relax();  // main is on the caller's thread
  });
  sigset_t after;
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &before, &after), 0);
  EXPECT_EQ(sigismember(&after, SIGURG), 1);
}

// The default action of this signal would end the program when main's mask is restored.
TEST(signals, T15_one_that_main_has_blocked_when_it_ends_does_no_harm) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  run_with({.max_procs = 1, .preempt_signal = SIGUSR2}, [] {
    sigset_t mine;
    sigemptyset(&mine);
    sigaddset(&mine, SIGUSR2);
    lock_os_thread();
    ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &mine, nullptr), 0);
    rt::os::send_pause_signal(rt::os::current_tid());
  });
  SUCCEED() << "it lives";
}

TEST(signals, SS_08_a_storm_of_preemptions_does_not_disturb_fork_and_exec) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  with_slices_of const slices(100us);
  run_at(2, [] {
    for (int i = 0; i < 3; ++i) go([] { loop_for_ever(); });
    for (int i = 0; i < 10; ++i) {
      pid_t const child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        ::execl("/bin/sh", "sh", "-c", "exit 5", nullptr);
        ::_exit(1);
      }
      int status = 0;
      pid_t const ended = blocking([&] { return TEMP_FAILURE_RETRY(::waitpid(child, &status, 0)); });
      EXPECT_EQ(ended, child);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 5) << status;
    }
    EXPECT_GT(preempted(read_stats()), 0U) << "no storm";
  });
}

TEST(signals, SS_08_a_signal_for_one_thread_arrives_there) {
  static std::atomic<int> arrived_on{0};
  struct sigaction mine {};
  struct sigaction before {};
  mine.sa_handler = [](int) { arrived_on = rt::os::current_tid(); };
  mine.sa_flags = SA_ONSTACK;
  ASSERT_EQ(::sigaction(SIGUSR1, &mine, &before), 0);
  run_at(2, [] {
    std::atomic<int> other{0};
    std::atomic<bool> stop{false};
    wait_group all;
    all.go([&] {
      other = rt::os::current_tid();
      while (!stop) rt::os::yield_thread();
    });
    ASSERT_TRUE(test::spin_until([&] { return other != 0; }));
    auto const arrival = [&] {
      arrived_on = 0;
      auto const since = clock::now();
      EXPECT_EQ(::tgkill(::getpid(), other, SIGUSR1), 0);
      EXPECT_TRUE(test::spin_until([&] { return arrived_on != 0; }));
      EXPECT_EQ(arrived_on, other);
      return clock::now() - since;
    };
    auto const limit = 1s * test::slowness();
    EXPECT_LE(test::in_one_of(5, arrival, [=](auto took) { return took <= limit; }), limit);
    stop = true;
    all.wait();
  });
  ::sigaction(SIGUSR1, &before, nullptr);
}

}  // namespace
}  // namespace thrum
