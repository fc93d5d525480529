#include "os/report_deadline.h"

#include "os/signal.h"

#include <initializer_list>
#include <string>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace thrum::rt::os {
namespace {

int volatile came_by = 0;  // the signal that brought the deadline
int volatile of_program = 0;

bool note_deadline(int signal, siginfo_t* information, void*) {
  if (!is_report_deadline(*information)) return false;
  came_by = signal;
  return true;
}

void note_signal_of_program(int) { of_program = of_program + 1; }

struct sigaction in_force(int signal) {
  struct sigaction now {};
  ::sigaction(signal, nullptr, &now);
  return now;
}

constexpr int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

class report_deadlines : public testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 5; ++i) before_[i] = in_force(faults[i]);
    came_by = 0;
    of_program = 0;
    ASSERT_EQ(install_fault_handler(note_deadline), 0);
  }
  void TearDown() override {
    stop_report_deadline();
    static_cast<void>(remove_fault_handler());
    for (int i = 0; i < 5; ++i) ::sigaction(faults[i], &before_[i], nullptr);
  }

  static void program_handles(std::initializer_list<int> signals) {
    for (int const signal : signals) ::signal(signal, note_signal_of_program);
  }
  static void wait_for_deadline(after_report what) {
    ASSERT_TRUE(start_report_deadline(1'000'000, what));
    for (int i = 0; i < 30'000 && came_by == 0 && of_program == 0; ++i) ::usleep(1000);
  }

 private:
  struct sigaction before_[5]{};
};

// The report may make guarded calls, whose faults must come to thrum's handler.
TEST_F(report_deadlines, if_the_program_ends_thrums_handler_of_SIGSEGV_is_put_back_in_force) {
  program_handles({SIGSEGV});
  wait_for_deadline(after_report::program_ends);
  EXPECT_EQ(came_by, SIGSEGV);
  EXPECT_EQ(of_program, 0);
}

TEST_F(report_deadlines, if_the_program_goes_on_its_handlers_stay_in_force) {
  program_handles({SIGSEGV, SIGBUS, SIGFPE, SIGABRT});
  wait_for_deadline(after_report::program_goes_on);
  EXPECT_EQ(came_by, SIGILL);
  stop_report_deadline();
  for (int const signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT}) {
    EXPECT_EQ(in_force(signal).sa_handler, note_signal_of_program) << signal;
  }
}

TEST_F(report_deadlines, also_if_it_handles_all_faults_and_then_a_signal_is_borrowed) {
  program_handles({SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT});
  wait_for_deadline(after_report::program_goes_on);
  EXPECT_NE(came_by, 0);
  for (int const signal : faults) {
    EXPECT_NE(came_by, signal);
    EXPECT_EQ(in_force(signal).sa_handler, note_signal_of_program) << signal;
  }
  stop_report_deadline();
  EXPECT_EQ(in_force(came_by).sa_handler, SIG_DFL);
}

TEST_F(report_deadlines, a_signal_that_the_thread_blocked_is_blocked_again_afterwards) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &all, &before), 0);
  wait_for_deadline(after_report::program_goes_on);
  EXPECT_NE(came_by, 0);
  stop_report_deadline();
  sigset_t now;
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &before, &now), 0);
  EXPECT_EQ(::sigismember(&now, came_by), 1);
}

TEST_F(report_deadlines, one_that_is_stopped_in_time_does_not_come) {
  ASSERT_TRUE(start_report_deadline(3'600'000'000'000, after_report::program_goes_on));
  stop_report_deadline();
  EXPECT_EQ(came_by, 0);
}

}  // namespace
}  // namespace thrum::rt::os
