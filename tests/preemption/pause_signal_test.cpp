#include "os/pause_signal.h"

#include "os/fault.h"
#include "os/thread.h"
#include "os/thread_state.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>

namespace thrum::rt::os {
namespace {

// What the handlers saw. They run on this thread, in the middle of the test.
int volatile pauses;
int volatile programs;
int volatile below;

void on_pause(void const*) noexcept { pauses = pauses + 1; }
void of_program(int) { programs = programs + 1; }
void from_before(int) { below = below + 1; }

struct sigaction passed_on_to;  // what the program's action found before itself

void of_program_and_on(int number, siginfo_t* information, void* context) {
  programs = programs + 1;
  passed_on_to.sa_sigaction(number, information, context);
}

// A run that leaves a goroutine computing keeps its signal number for good, so each test has a number of its own.
class pause_signal_test : public testing::Test {
 protected:
  void SetUp() override {
    pauses = 0;
    programs = 0;
    below = 0;
  }

  static struct sigaction set(int number, void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    return replace(number, action);
  }
  static struct sigaction set_passing_on(int number) {
    struct sigaction action {};
    action.sa_sigaction = of_program_and_on;
    action.sa_flags = SA_SIGINFO;
    return replace(number, action);
  }

  static void install(int number) { EXPECT_EQ(install_pause_signal(number, on_pause), 0); }
  static void send_one_of_each(int number) {
    EXPECT_TRUE(send_pause_signal(current_tid()));
    EXPECT_EQ(::raise(number), 0);
  }
  // Sends one of each, and expects these counts of calls since the test began.
  static void expect_sent(int number, int to_pause, int to_program, int to_below) {
    send_one_of_each(number);
    EXPECT_EQ(pauses, to_pause);
    EXPECT_EQ(programs, to_program);
    EXPECT_EQ(below, to_below);
  }
  // Removes the action, and expects that this handler is in force then.
  static void remove_down_to(int number, void (*handler)(int)) {
    EXPECT_EQ(remove_pause_signal(still_sent::no), 0);
    EXPECT_EQ(set(number, SIG_DFL).sa_handler, handler);
  }

 private:
  static struct sigaction replace(int number, struct sigaction const& action) {
    struct sigaction before {};
    EXPECT_EQ(::sigaction(number, &action, &before), 0);
    return before;
  }
};

TEST_F(pause_signal_test, T15_what_others_send_goes_to_the_action_before_and_that_is_handed_back) {
  int const number = SIGRTMIN;
  set(number, from_before);
  install(number);
  expect_sent(number, 1, 0, 1);
  remove_down_to(number, from_before);
}

TEST_F(pause_signal_test, T15_is_taken_over_anew_from_a_program_that_put_its_own_in_our_place) {
  int const number = SIGRTMIN + 1;
  set(number, from_before);
  install(number);
  EXPECT_EQ(remove_pause_signal(still_sent::perhaps), 0);
  set(number, of_program);
  install(number);
  expect_sent(number, 1, 1, 0);
  remove_down_to(number, of_program);
}

TEST_F(pause_signal_test, T15_a_program_that_passes_on_to_ours_is_called_once) {
  int const number = SIGRTMIN + 2;
  set(number, from_before);
  install(number);
  passed_on_to = set_passing_on(number);
  EXPECT_EQ(remove_pause_signal(still_sent::no), EBUSY) << "it stays below the program's";
  expect_sent(number, 1, 2, 1);
  for (int run = 1; run <= 10; ++run) {
    install(number);
    expect_sent(number, 1 + run, 2 + run, 1 + run);  // ours do not get to the program's
    ASSERT_EQ(remove_pause_signal(still_sent::no), 0);
  }
  EXPECT_EQ(set(number, SIG_DFL).sa_sigaction, of_program_and_on);
}

TEST_F(pause_signal_test, T15_one_of_ours_that_the_program_puts_back_is_in_force_again) {
  int const number = SIGRTMIN + 3;
  set(number, from_before);
  install(number);
  struct sigaction const first = set(number, of_program);
  install(number);
  ASSERT_EQ(::sigaction(number, &first, nullptr), 0);
  install(number);
  expect_sent(number, 1, 0, 1);
  remove_down_to(number, from_before);
}

TEST_F(pause_signal_test, T15_a_program_that_puts_an_old_one_of_ours_below_its_own_gets_no_circle) {
  int const number = SIGRTMIN + 4;
  set(number, from_before);
  install(number);
  ASSERT_EQ(::sigaction(number, nullptr, &passed_on_to), 0);
  ASSERT_EQ(remove_pause_signal(still_sent::no), 0);
  ASSERT_EQ(::sigaction(number, &passed_on_to, nullptr), 0);
  install(number);
  set_passing_on(number);
  EXPECT_EQ(remove_pause_signal(still_sent::no), EBUSY);
  install(number);
  expect_sent(number, 1, 1, 1);
  EXPECT_EQ(remove_pause_signal(still_sent::no), 0);
}

TEST_F(pause_signal_test, T15_a_program_may_set_its_handler_in_every_run) {
  int const number = SIGRTMIN + 5;
  for (int run = 1; run <= 10; ++run) {
    install(number);
    set(number, of_program);
    EXPECT_EQ(remove_pause_signal(still_sent::no), EBUSY);
  }
  install(number);
  expect_sent(number, 1, 1, 0);
  remove_down_to(number, of_program);
}

TEST_F(pause_signal_test, T15_ever_new_handlers_over_ours_are_refused_in_the_end_and_nothing_changes) {
  int const number = SIGRTMIN + 6;
  set(number, from_before);
  int error = 0;
  for (int i = 0; i < 100 && error == 0; ++i) {
    error = install_pause_signal(number, on_pause);
    if (error == 0) set(number, i % 2 == 0 ? of_program : from_before);
  }
  EXPECT_EQ(error, EBUSY);
  EXPECT_NE(set(number, SIG_DFL).sa_flags & SA_SIGINFO, SA_SIGINFO) << "it is not ours";
}

TEST_F(pause_signal_test, T15_one_that_is_kept_for_good_is_not_handed_back_by_later_runs) {
  int const number = SIGRTMIN + 7;
  set(number, from_before);
  install(number);
  EXPECT_EQ(remove_pause_signal(still_sent::perhaps), 0);
  EXPECT_FALSE(pause_signal_is_kept(number));
  install(number);
  EXPECT_EQ(remove_pause_signal(still_sent::for_good), 0);
  EXPECT_TRUE(pause_signal_is_kept(number));
  install(number);
  EXPECT_EQ(remove_pause_signal(still_sent::no), 0);
  EXPECT_TRUE(send_pause_signal(current_tid()));
  EXPECT_EQ(pauses, 1);
}

TEST_F(pause_signal_test, T15_has_its_flags_again_if_the_program_put_it_back_without) {
  int const number = SIGRTMIN + 8;
  install(number);
  struct sigaction ours {};
  ASSERT_EQ(::sigaction(number, nullptr, &ours), 0);
  int const flags = ours.sa_flags;
  EXPECT_NE(flags & SA_ONSTACK, 0);
  ::signal(number, ::signal(number, of_program));
  install(number);
  ASSERT_EQ(::sigaction(number, nullptr, &ours), 0);
  EXPECT_EQ(ours.sa_flags, flags);
  remove_down_to(number, SIG_DFL);
}

TEST_F(pause_signal_test, T15_a_number_that_is_none_or_cannot_be_caught_is_refused_and_not_sent) {
  int const number = SIGRTMIN + 9;
  install(number);
  EXPECT_EQ(install_pause_signal(0, on_pause), EINVAL);
  EXPECT_EQ(install_pause_signal(_NSIG, on_pause), EINVAL);
  EXPECT_EQ(install_pause_signal(SIGKILL, on_pause), EINVAL);
  EXPECT_TRUE(send_pause_signal(current_tid()));
  EXPECT_EQ(pauses, 1);
  EXPECT_EQ(remove_pause_signal(still_sent::no), 0);
}

TEST_F(pause_signal_test, T15_a_call_that_fails_is_reported_and_changes_nothing) {
  int const number = SIGRTMIN + 10;
  set(number, from_before);
  for (int call_that_fails = 0; call_that_fails < 2; ++call_that_fails) {  // one look, one change
    inject_fault(call::sigaction, EPERM, call_that_fails);
    EXPECT_EQ(install_pause_signal(number, on_pause), EPERM);
    clear_faults();
    EXPECT_EQ(set(number, from_before).sa_handler, from_before);
  }
  install(number);
  for (int call_that_fails = 0; call_that_fails < 3; ++call_that_fails) {
    inject_fault(call::sigaction, EPERM, call_that_fails);
    EXPECT_EQ(remove_pause_signal(still_sent::no), EPERM);
    clear_faults();
    send_one_of_each(number);
  }
  EXPECT_EQ(pauses, 3);
  EXPECT_EQ(below, 3);
  remove_down_to(number, from_before);
}

TEST_F(pause_signal_test, T15_a_handler_for_one_signal_has_one) {
  int const number = SIGURG;  // ignored by default
  struct sigaction once {};
  once.sa_handler = of_program;
  once.sa_flags = static_cast<int>(SA_RESETHAND);
  ASSERT_EQ(::sigaction(number, &once, nullptr), 0);
  install(number);
  for (int i = 0; i < 3; ++i) send_one_of_each(number);
  EXPECT_EQ(pauses, 3);
  EXPECT_EQ(programs, 1);
  remove_down_to(number, SIG_DFL);
}

// The kernel keeps the flags of one that has had its signal; and a program may set them with what is no function.
TEST_F(pause_signal_test, T15_what_is_no_function_is_not_called_whatever_its_flags) {
  int const number = SIGWINCH;  // ignored by default
  for (auto* const none : {SIG_DFL, SIG_IGN}) {
    struct sigaction before {};
    before.sa_handler = none;
    before.sa_flags = SA_SIGINFO;
    ASSERT_EQ(::sigaction(number, &before, nullptr), 0);
    install(number);
    send_one_of_each(number);
    EXPECT_EQ(remove_pause_signal(still_sent::no), 0);
  }
  EXPECT_EQ(pauses, 2);
  set(number, SIG_DFL);
}

TEST_F(pause_signal_test, T15_what_the_program_ignores_leaves_ours_in_force_although_the_kernel_sent_it) {
  int const number = SIGALRM;
  set(number, SIG_IGN);
  install(number);
  itimerval const soon{{0, 0}, {0, 1}};
  sigset_t alarm;
  sigset_t before;
  sigemptyset(&alarm);
  sigaddset(&alarm, number);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &alarm, &before), 0);
  ASSERT_EQ(::setitimer(ITIMER_REAL, &soon, nullptr), 0);
  sigset_t waiting;
  do {
    ASSERT_EQ(::sigpending(&waiting), 0);
  } while (::sigismember(&waiting, number) == 0);
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
  EXPECT_TRUE(send_pause_signal(current_tid()));
  EXPECT_EQ(pauses, 1);
  remove_down_to(number, SIG_IGN);
}

// The kernel takes 0 for the calling thread, which would be sysmon.
TEST(pause_timer, T15_no_timer_is_set_for_a_thread_that_does_not_exist) {
  EXPECT_EQ(thread_cpu_ns(0), -1);
  pause_timer timer;
  EXPECT_FALSE(timer.send_at_next_tick(0));
}

}  // namespace
}  // namespace thrum::rt::os
