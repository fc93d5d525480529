#include "os/epoll.h"
#include "os/fault.h"
#include "os/uring.h"
#include "support/cold_file.h"
#include "support/wait_until.h"

#include <errno.h>
#include <gtest/gtest.h>

namespace thrum::rt::os {
namespace {

class uring_of_the_kernel : public testing::Test {
 protected:
  void SetUp() override {
    clear_faults();
    if (!test::uring_is_available()) GTEST_SKIP() << "this kernel has no io_uring for us";
    ASSERT_EQ(it_.open(), 0);
  }
  void TearDown() override { clear_faults(); }

  uring_answer next() {
    uring_answer one{};
    EXPECT_TRUE(test::wait_until([&] { return it_.take_answers(&one, 1) == 1; }));
    return one;
  }

  test::cold_file data_{10'000};
  file in_ = data_.open_cold();
  uring it_;
  int first_ = 0;
  int second_ = 0;
};

TEST_F(uring_of_the_kernel, NE_tells_that_a_byte_is_there_or_none_can_be) {
  it_.ask(in_.native_handle(), 9'999, &first_);
  EXPECT_EQ(it_.hand_in(), 0U);
  uring_answer const there = next();
  EXPECT_EQ(there.tag, &first_);
  EXPECT_EQ(there.result, 1);
  it_.ask(in_.native_handle(), 10'000, &first_);
  it_.ask(-1, 0, &second_);
  EXPECT_EQ(it_.hand_in(), 0U);
  uring_answer answers[2] = {next(), next()};
  if (answers[0].tag == &second_) std::swap(answers[0], answers[1]);
  EXPECT_EQ(answers[0].result, 0) << "the file ends there";
  EXPECT_EQ(answers[1].result, -EBADF);
}

TEST_F(uring_of_the_kernel, NE_every_answer_is_an_event) {
  poll_event events[poll_events_max];
  while (poll_wait(events, 0) != 0) {
  }
  for (int i = 0; i < 3; ++i) {
    it_.ask(in_.native_handle(), 0, &first_);
    EXPECT_EQ(it_.hand_in(), 0U);
    // 0: the kernel goes on with the question on this thread, and ends its sleep.
    ASSERT_TRUE(test::wait_until([&] { return poll_wait(events, 1'000'000) == 1; }));
    EXPECT_EQ(events[0].what, poll_says::uring);
    EXPECT_EQ(next().tag, &first_);
  }
}

TEST_F(uring_of_the_kernel, NE_what_is_not_taken_is_not_asked) {
  inject_fault(call::uring_enter, EBUSY);
  it_.ask(in_.native_handle(), 0, &first_);
  it_.ask(in_.native_handle(), 0, &first_);
  EXPECT_EQ(it_.hand_in(), 2U);
  it_.ask(in_.native_handle(), 0, &second_);
  EXPECT_EQ(it_.hand_in(), 0U);
  EXPECT_EQ(next().tag, &second_);
  uring_answer none{};
  EXPECT_EQ(it_.take_answers(&none, 1), 0);
}

TEST_F(uring_of_the_kernel, NE_its_queues_go_round) {
  for (unsigned i = 0; i < 3; ++i) {
    for (unsigned k = 0; k < uring_questions_max; ++k)
      it_.ask(in_.native_handle(), k, (k & 1U) != 0 ? &first_ : &second_);
    EXPECT_EQ(it_.hand_in(), 0U);
    for (unsigned k = 0; k < uring_questions_max; ++k) ASSERT_EQ(next().result, 1);
  }
}

}  // namespace
}  // namespace thrum::rt::os
