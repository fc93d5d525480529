#include "os/pause_signal.h"

#include "os/thread.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <signal.h>

namespace thrum::rt::os {
namespace {

// What the handlers saw. They run on this thread, in the middle of the test.
int volatile pauses;
int volatile programs;
int volatile below;

void on_pause(void const*) noexcept { pauses = pauses + 1; }
void of_program(int) { programs = programs + 1; }
void from_before(int) { below = below + 1; }

// The number stays as a run leaves it that left somebody computing: each test has one of its own.
class pause_signal_test : public testing::Test {
 protected:
  void SetUp() override { pauses = programs = below = 0; }

  static struct sigaction set(int number, void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    struct sigaction before {};
    EXPECT_EQ(::sigaction(number, &action, &before), 0);
    return before;
  }

  static void send_one_of_each(int number) {
    EXPECT_TRUE(send_pause_signal(current_tid()));
    EXPECT_EQ(::raise(number), 0);
  }
};

TEST_F(pause_signal_test, T15_what_others_send_goes_to_the_action_before_and_that_is_handed_back) {
  int const number = SIGRTMIN;
  set(number, from_before);
  ASSERT_EQ(install_pause_signal(number, on_pause), 0);
  send_one_of_each(number);
  EXPECT_EQ(pauses, 1);
  EXPECT_EQ(below, 1);
  EXPECT_EQ(remove_pause_signal(still_sent::no), 0);
  EXPECT_EQ(set(number, SIG_DFL).sa_handler, from_before);
}

TEST_F(pause_signal_test, T15_is_taken_over_anew_from_a_program_that_put_its_own_in_our_place) {
  int const number = SIGRTMIN + 1;
  set(number, from_before);
  ASSERT_EQ(install_pause_signal(number, on_pause), 0);
  EXPECT_EQ(remove_pause_signal(still_sent::perhaps), 0);
  set(number, of_program);
  ASSERT_EQ(install_pause_signal(number, on_pause), 0);
  send_one_of_each(number);
  EXPECT_EQ(pauses, 1);
  EXPECT_EQ(programs, 1);
  EXPECT_EQ(below, 0);
  EXPECT_EQ(remove_pause_signal(still_sent::no), 0);
  EXPECT_EQ(set(number, SIG_DFL).sa_handler, of_program);
}

struct sigaction passed_on_to;  // what the program's action found before itself

void of_program_and_on(int number, siginfo_t* information, void* context) {
  programs = programs + 1;
  passed_on_to.sa_sigaction(number, information, context);
}

TEST_F(pause_signal_test, T15_a_program_that_passes_on_to_ours_is_called_once) {
  int const number = SIGRTMIN + 2;
  set(number, from_before);
  ASSERT_EQ(install_pause_signal(number, on_pause), 0);
  struct sigaction chaining {};
  chaining.sa_sigaction = of_program_and_on;
  chaining.sa_flags = SA_SIGINFO;
  ASSERT_EQ(::sigaction(number, &chaining, &passed_on_to), 0);
  EXPECT_EQ(remove_pause_signal(still_sent::no), EBUSY) << "it stays below the program's";
  send_one_of_each(number);
  EXPECT_EQ(pauses, 1);
  EXPECT_EQ(programs, 2);
  EXPECT_EQ(below, 1);
  for (int run = 1; run <= 10; ++run) {
    ASSERT_EQ(install_pause_signal(number, on_pause), 0);
    send_one_of_each(number);
    EXPECT_EQ(pauses, 1 + run);
    EXPECT_EQ(programs, 2 + run) << "ours do not get to it";
    EXPECT_EQ(below, 1 + run);
    ASSERT_EQ(remove_pause_signal(still_sent::no), 0);
  }
  EXPECT_EQ(set(number, SIG_DFL).sa_sigaction, of_program_and_on);
}

TEST_F(pause_signal_test, T15_one_of_ours_that_the_program_puts_back_is_in_force_again) {
  int const number = SIGRTMIN + 3;
  set(number, from_before);
  ASSERT_EQ(install_pause_signal(number, on_pause), 0);
  struct sigaction const first = set(number, of_program);
  ASSERT_EQ(install_pause_signal(number, on_pause), 0);
  ASSERT_EQ(::sigaction(number, &first, nullptr), 0);
  ASSERT_EQ(install_pause_signal(number, on_pause), 0);
  send_one_of_each(number);
  EXPECT_EQ(pauses, 1);
  EXPECT_EQ(programs, 0);
  EXPECT_EQ(below, 1);
  ASSERT_EQ(remove_pause_signal(still_sent::no), 0);
  EXPECT_EQ(set(number, SIG_DFL).sa_handler, from_before);
}

TEST_F(pause_signal_test, T15_again_and_again_is_refused_and_changes_nothing) {
  int const number = SIGRTMIN + 4;
  set(number, from_before);
  int error = 0;
  for (int i = 0; i < 100 && error == 0; ++i) {
    error = install_pause_signal(number, on_pause);
    if (error == 0) set(number, of_program);
  }
  EXPECT_EQ(error, EBUSY);
  EXPECT_EQ(set(number, SIG_DFL).sa_handler, of_program);
}

TEST_F(pause_signal_test, T15_a_number_that_is_none_is_refused) {
  EXPECT_EQ(install_pause_signal(0, on_pause), EINVAL);
  EXPECT_EQ(install_pause_signal(_NSIG, on_pause), EINVAL);
  EXPECT_EQ(install_pause_signal(SIGKILL, on_pause), EINVAL);
}

}  // namespace
}  // namespace thrum::rt::os
