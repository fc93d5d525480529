// T15: what thrum does to signals and policies of the program's threads, and what it does not.
#include "core/sched.h"
#include "os/signal.h"
#include "support/child.h"
#include "support/child_test.h"
#include "support/goroutines.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/tid_of.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cstdlib>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::run_at;

void change_one(int how, int signal) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  ASSERT_EQ(::pthread_sigmask(how, &one, nullptr), 0);
}

bool takes(int signal) {
  sigset_t blocked;
  EXPECT_EQ(::pthread_sigmask(SIG_SETMASK, nullptr, &blocked), 0);
  return ::sigismember(&blocked, signal) == 0;
}

TEST(masks, T15_what_main_does_to_its_mask_stays) {
  ASSERT_TRUE(takes(SIGUSR1));
  run_at(1, [] { change_one(SIG_BLOCK, SIGUSR1); });
  EXPECT_FALSE(takes(SIGUSR1));
  change_one(SIG_UNBLOCK, SIGUSR1);
  EXPECT_TRUE(takes(SIGURG));
}

TEST(masks, T15_one_that_the_caller_has_blocked_is_blocked_on_every_thread) {
  change_one(SIG_BLOCK, SIGUSR1);
  run_at(2, [] {
    test::leave_m0();
    EXPECT_FALSE(takes(SIGUSR1));
    EXPECT_TRUE(takes(SIGUSR2));
    EXPECT_TRUE(takes(SIGURG)) << "or slices would not end";
  });
  change_one(SIG_UNBLOCK, SIGUSR1);
}

class signals_to_spare : public test::child_test {};

std::atomic<int> of_the_program{0};

int slices_end_without_room_for_signals() {
  rlimit const none{0, 0};
  if (::setrlimit(RLIMIT_SIGPENDING, &none) != 0) return 1;
  struct sigaction mine {};
  mine.sa_handler = [](int) { ++of_the_program; };
  ::sigaction(SIGUSR1, &mine, nullptr);
  test::with_slices_of const slices(1ms);
  for (int const signal : {SIGURG, SIGUSR1, SIGUSR2}) {
    test::run_with({.max_procs = 1, .preempt_signal = signal}, test::sleep_beside_a_loop);
  }
  return of_the_program > 0 ? 7 : 2;  // it may have been the program's
}

// The kernel has no memory for the siginfo of a signal, so thrum has to recognise its signal without the siginfo.
TEST_F(signals_to_spare, T15_slices_end_although_too_many_signals_wait_in_the_system) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  if (test::emulated()) GTEST_SKIP() << "the emulator's own signals have no room either";
  EXPECT_EXIT(std::exit(slices_end_without_room_for_signals()), testing::ExitedWithCode(7), "");
}

TEST(policies, S16_sysmon_keeps_the_policy_of_the_program) {
  sched_param const first{.sched_priority = 1};
  if (::sched_setscheduler(0, SCHED_FIFO, &first) != 0) GTEST_SKIP() << "not for us";
  run_at(1, [] {
    int sysmon = 0;
    EXPECT_TRUE(test::wait_until([&] { return (sysmon = test::tid_of("thrum-sysmon")) != 0; }));
    EXPECT_EQ(::sched_getscheduler(sysmon), SCHED_FIFO);
  });
  sched_param const usual{.sched_priority = 0};
  EXPECT_EQ(::sched_setscheduler(0, SCHED_OTHER, &usual), 0);
}

}  // namespace
}  // namespace thrum
