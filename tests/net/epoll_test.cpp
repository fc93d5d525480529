#include "os/epoll.h"

#include "os/clock.h"
#include "os/fault.h"
#include "os/note.h"
#include "os/socket.h"

#include <thread>

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum::rt::os {
namespace {

class epoll : public testing::Test {
 protected:
  void SetUp() override {
    clear_faults();
    ASSERT_EQ(open_poll(), 0);
    ASSERT_EQ(open_pipe(ends_), 0);
    ASSERT_EQ(poll_add(ends_[0], mine), 0);
    drain();
  }
  void TearDown() override {
    poll_remove(ends_[0]);
    for (int const end : ends_) close(end);
    drain();
    clear_faults();
  }

  // What else may be there, such as notifications by other tests.
  static void drain() {
    poll_event events[poll_events_max];
    while (poll_wait(events, 0) != 0) {
    }
  }

  // What is said of the pipe now; 0: nothing.
  static std::uint32_t look(std::int64_t timeout_ns = 0) {
    poll_event events[poll_events_max];
    std::uint32_t what = 0;
    int const count = poll_wait(events, timeout_ns);
    for (int i = 0; i < count; ++i) what |= events[i].data == mine ? events[i].what : 0;
    return what;
  }

  static constexpr std::uint64_t mine = 0x1230040;
  int ends_[2]{};
};

TEST_F(epoll, an_event_comes_once_for_what_is_written) {
  EXPECT_EQ(look(), 0U);
  EXPECT_EQ(write(ends_[1], "x", 1), 1);
  EXPECT_EQ(look(), poll_says::readable);
  EXPECT_EQ(look(), 0U) << "it is edge-triggered";
  EXPECT_EQ(write(ends_[1], "y", 1), 1);
  EXPECT_EQ(look(), poll_says::readable) << "also if the first was not read";
}

TEST_F(epoll, the_end_of_the_other_side_is_an_end) {
  close(std::exchange(ends_[1], -1));
  EXPECT_NE(look() & poll_says::ended, 0U);
}

TEST_F(epoll, a_timeout_is_never_early_whether_the_kernel_takes_nanoseconds_or_not) {
  for (bool const old_kernel : {false, true}) {
    if (old_kernel) inject_fault(call::epoll_wait, ENOSYS);  // from here on, for good
    std::int64_t const begin = monotonic_ns();
    EXPECT_EQ(look(1'500'000), 0U);
    EXPECT_GE(monotonic_ns() - begin, 1'500'000);
  }
}

TEST_F(epoll, an_interrupted_sleep_brings_nothing) {
  inject_fault(call::epoll_wait, EINTR);
  poll_event events[poll_events_max];
  EXPECT_EQ(poll_wait(events, -1), 0);
}

TEST_F(epoll, a_notification_ends_a_sleep_now_or_later_and_each_is_an_event) {
  poll_event events[poll_events_max];
  for (int round = 0; round < 3; ++round) {
    notify_poller();
    ASSERT_EQ(poll_wait(events, -1), 1);
    EXPECT_EQ(events[0].what, poll_says::notified);
  }
  std::thread other([] { notify_poller(); });
  EXPECT_EQ(poll_wait(events, -1), 1);
  other.join();
}

TEST_F(epoll, a_note_notifies_the_thread_that_polls_and_no_other) {
  note n;
  ASSERT_TRUE(n.begin_poll());
  std::thread waker([&] { n.wake(); });
  poll_event events[poll_events_max];
  EXPECT_EQ(poll_wait(events, -1), 1);
  EXPECT_TRUE(n.end_poll());
  waker.join();
  n.clear();
  ASSERT_TRUE(n.begin_poll());
  EXPECT_FALSE(n.end_poll());
  n.wake();
  EXPECT_EQ(poll_wait(events, 0), 0);
  EXPECT_FALSE(n.begin_poll());
}

TEST_F(epoll, failures_arrive_as_they_are) {
  inject_fault(call::epoll_ctl, ENOMEM);
  EXPECT_EQ(poll_add(ends_[1], mine + 64), ENOMEM);
  int const file = ::open("/proc/self/exe", O_RDONLY);
  EXPECT_EQ(poll_add(file, mine + 64), EPERM) << "a file cannot be polled";
  ::close(file);
  EXPECT_EQ(poll_add(ends_[0], mine), EEXIST);
}

}  // namespace
}  // namespace thrum::rt::os
