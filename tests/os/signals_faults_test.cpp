// Subscribing to signals when the system refuses: all of them or none, in both forms of the call.
#include "os/fault.h"
#include "support/child_test.h"
#include "support/fatal.h"
#include "support/run_at.h"
#include "support/sockets.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <cstdlib>
#include <string>
#include <system_error>

#include <errno.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace thrum {
namespace {

using rt::os::call;
using rt::os::clear_faults;
using rt::os::inject_fault;

class signal_faults : public test::at_every_width {
 protected:
  void SetUp() override { clear_faults(); }
  void TearDown() override { clear_faults(); }
};

bool is_watched(int number) {
  struct sigaction now {};
  EXPECT_EQ(::sigaction(number, nullptr, &now), 0);
  return now.sa_handler != SIG_DFL;
}

TEST_P(signal_faults, NE_when_one_cannot_be_watched_none_is) {
  run([] {
    std::error_code error;
    inject_fault(call::sigaction, EPERM, 1);
    EXPECT_FALSE(signals({SIGUSR1, SIGUSR2}, error));
    EXPECT_EQ(error, std::errc::operation_not_permitted);
    EXPECT_FALSE(is_watched(SIGUSR1));
    EXPECT_FALSE(is_watched(SIGUSR2));

    auto const all = signals({SIGUSR1, SIGUSR2}, error);
    EXPECT_FALSE(error) << "cleared";
    EXPECT_TRUE(all);
    EXPECT_TRUE(is_watched(SIGUSR1));
    EXPECT_TRUE(is_watched(SIGUSR2));
    stop_signals(all);
    EXPECT_FALSE(is_watched(SIGUSR1));
  });
}

TEST_P(signal_faults, NE_the_form_without_an_error_code_throws) {
  run([] {
    inject_fault(call::sigaction, EPERM);
    try {
      static_cast<void>(signals(SIGUSR1));
      ADD_FAILURE() << "subscribed";
    } catch (std::system_error const& e) {
      EXPECT_EQ(e.code(), std::errc::operation_not_permitted);
      EXPECT_EQ(std::string(e.what()).find("thrum: signals"), 0U) << e.what();
    }
  });
}

TEST_P(signal_faults, NE_a_refused_subscriber_takes_nothing_from_the_others) {
  run([] {
    auto const other = signals(SIGUSR1);
    std::error_code error;
    inject_fault(call::sigaction, EPERM);
    EXPECT_FALSE(signals({SIGUSR1, SIGUSR2}, error));
    EXPECT_EQ(error, std::errc::operation_not_permitted);
    EXPECT_TRUE(is_watched(SIGUSR1));
    stop_signals(other);
    EXPECT_FALSE(is_watched(SIGUSR1));
  });
}

THRUM_AT_EVERY_WIDTH(signal_faults);

class signal_eventfd : public test::fatal_test {};

// The eventfd to which the handlers write is made once in a process: so in one of its own.
TEST_F(signal_eventfd, NE_without_a_descriptor_or_a_place_in_the_poller_it_is_tried_again_by_the_next) {
  auto const child = [] {
    ::alarm(100);
    thrum::run([] {
      auto const polls = test::socket_pair();  // the poller has what it needs
      std::error_code error;
      inject_fault(call::eventfd, EMFILE);
      EXPECT_FALSE(signals({SIGUSR1}, error));
      EXPECT_EQ(error, std::errc::too_many_files_open);
      inject_fault(call::epoll_ctl, ENOSPC);
      EXPECT_FALSE(signals({SIGUSR1}, error));
      EXPECT_EQ(error, std::errc::no_buffer_space);
      EXPECT_FALSE(is_watched(SIGUSR1));
      auto const all = signals({SIGUSR1}, error);
      EXPECT_FALSE(error);
      ::raise(SIGUSR1);
      EXPECT_EQ(all.recv(), SIGUSR1);
    });
    std::exit(testing::Test::HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
}

class signals_and_runs : public test::child_test {};

TEST_P(signal_faults, NE_a_subscriber_that_closes_its_channel_is_subscribed_no_more) {
  run([] {
    auto const other = signals(SIGUSR2);
    auto const closed = signals(SIGUSR1);
    closed.close();
    ::raise(SIGUSR1);
    EXPECT_TRUE(test::wait_until([] { return !is_watched(SIGUSR1); }));
    ::raise(SIGUSR2);
    EXPECT_EQ(other.recv(), SIGUSR2) << "the others are told as before";
    stop_signals(closed);  // nothing happens
    stop_signals(other);
    EXPECT_FALSE(is_watched(SIGUSR2));
  });
}

TEST_P(signal_faults, NE_a_new_subscriber_gets_nothing_that_came_for_an_earlier_one) {
  run([] {
    auto const earlier = signals(SIGUSR1);
    ::raise(SIGUSR1);
    stop_signals(earlier);
    auto const later = signals(SIGUSR1, SIGUSR2);
    ::raise(SIGUSR2);
    EXPECT_EQ(later.recv(), SIGUSR2);
    stop_signals(later);
  });
}

TEST_F(signals_and_runs, NE_when_the_last_subscription_has_ended_a_deadlock_is_seen) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  for (int const procs : {1, 2, 8}) {
    auto const child = [procs] {
      thrum::run(
          [] {
            auto const one = signals(SIGUSR1);
            auto const other = signals(SIGUSR1, SIGUSR2);
            stop_signals(one);
            ::raise(SIGUSR2);
            if (other.recv() != SIGUSR2) std::_Exit(1);
            stop_signals(other);
            chan<int> never;
            static_cast<void>(never.recv());
          },
          {.max_procs = procs});
    };
    EXPECT_FATAL(child(), "fatal error: all goroutines are asleep - deadlock!");
  }
}

}  // namespace
}  // namespace thrum
