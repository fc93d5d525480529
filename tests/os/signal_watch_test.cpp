#include "os/signal_watch.h"

#include "os/pause_signal.h"

#include <cstdint>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace thrum::rt::os {
namespace {

using handler = void (*)(int);

void of_program(int) {}
void not_called(void const*) noexcept {}

handler in_force(int number) {
  struct sigaction now {};
  EXPECT_EQ(::sigaction(number, nullptr, &now), 0);
  return now.sa_handler;
}

class signal_watch : public testing::Test {
 protected:
  void SetUp() override {
    eventfd = make_signal_eventfd();
    ASSERT_GE(eventfd, 0);
    set_signal_eventfd(eventfd);
  }
  void TearDown() override {
    set_signal_eventfd(-1);
    ::close(eventfd);
  }
  int eventfd = -1;
};

TEST_F(signal_watch, NE_what_the_program_had_is_in_force_again) {
  ASSERT_NE(::signal(SIGUSR1, of_program), SIG_ERR);
  ASSERT_EQ(watch_signal(SIGUSR1), 0);
  EXPECT_NE(in_force(SIGUSR1), of_program);
  ::raise(SIGUSR1);
  EXPECT_EQ(take_noted_signals(), std::uint64_t{1} << unsigned{SIGUSR1});
  unwatch_signal(SIGUSR1);
  EXPECT_EQ(in_force(SIGUSR1), of_program);
}

TEST_F(signal_watch, NE_a_signal_that_was_not_fetched_is_forgotten_when_it_is_no_longer_watched) {
  ASSERT_EQ(watch_signal(SIGUSR1), 0);
  ::raise(SIGUSR1);
  unwatch_signal(SIGUSR1);
  EXPECT_EQ(take_noted_signals(), 0U);
}

// A program subscribed in a run that had another preemption signal than the next one.
TEST_F(signal_watch, T15_one_that_the_preemption_signal_lies_over_is_not_taken_from_it) {
  ASSERT_NE(::signal(SIGUSR2, of_program), SIG_ERR);
  ASSERT_EQ(watch_signal(SIGUSR2), 0);
  ASSERT_EQ(install_pause_signal(SIGUSR2, not_called), 0);
  handler const ours = in_force(SIGUSR2);
  unwatch_signal(SIGUSR2);
  EXPECT_EQ(in_force(SIGUSR2), ours);
  EXPECT_EQ(remove_pause_signal(still_sent::no), 0);
  ASSERT_EQ(watch_signal(SIGUSR2), 0);
  unwatch_signal(SIGUSR2);
  EXPECT_EQ(in_force(SIGUSR2), of_program);
}

}  // namespace
}  // namespace thrum::rt::os
