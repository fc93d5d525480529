// Many goroutines use one descriptor. Each gets its turn in the order in which they came, and the end of a call wakes
// one of them.
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/sockets.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;

class descriptor_turns : public test::at_every_width {};
THRUM_AT_EVERY_WIDTH(descriptor_turns);

std::uint64_t parks_so_far() {
  std::uint64_t sum = 0;
  for (auto const& p : read_stats().procs) sum += p.parks;
  return sum;
}

// Until a write waits for the reader.
void fill(fd& to) {
  std::string const block(std::size_t{1} << 16U, '-');
  std::error_code error;
  while (!error) {
    to.set_write_deadline(clock::now() + 5ms, error);
    if (!error) static_cast<void>(to.write_some(block, error));
  }
  ASSERT_EQ(error, std::errc::timed_out);
  // On a busy machine the time may be over before the write has met a full buffer.
  while (::send(to.native_handle(), "-", 1, MSG_DONTWAIT) > 0) {
  }
  to.set_write_deadline(fd::no_deadline);
}

TEST_P(descriptor_turns, NE_the_end_of_a_call_wakes_one_that_waits) {
  static constexpr int writers = 300;
  static constexpr int writes_each = 3;
  static constexpr std::size_t bytes = std::size_t{1} << 16U;
  run([] {
    auto ab = test::socket_pair();
    std::uint64_t const before = parks_so_far();
    wait_group all;
    for (int i = 0; i < writers; ++i) {
      all.go([&] {
        std::string const block(bytes, 'x');
        for (int n = 0; n < writes_each; ++n) ab.a.write_all(block);
      });
    }
    std::vector<char> to(bytes);
    for (int n = 0; n < writers * writes_each; ++n) EXPECT_EQ(ab.b.read_full({to.data(), to.size()}), bytes);
    all.wait();
    std::uint64_t const parks = parks_so_far() - before;
    RecordProperty("parks_per_write", static_cast<int>(parks / (writers * writes_each)));
    EXPECT_LT(parks, std::uint64_t{30} * writers * writes_each) << "a few for each write, not one for each writer";
  });
}

TEST_P(descriptor_turns, NE_calls_have_their_turns_in_the_order_of_coming) {
  static constexpr int writers = 50;
  run([] {
    auto ab = test::socket_pair();
    fill(ab.a);
    wait_group all;
    for (int i = 0; i < writers; ++i) {
      all.go([&, tag = static_cast<char>('0' + i)] { ab.a.write_all({&tag, 1}); });
      ASSERT_TRUE(test::wait_until([&] { return test::waiting_for(rt::wait_reason::io) == i + 1; }));
    }
    std::string tags;
    while (tags.size() < writers) {
      char some[4096];
      std::size_t const n = ab.b.read_some({some, sizeof some});
      for (std::size_t i = 0; i < n; ++i) {
        if (some[i] != '-') tags.push_back(some[i]);
      }
    }
    all.wait();
    for (int i = 0; i < writers; ++i) EXPECT_EQ(tags[static_cast<std::size_t>(i)], '0' + i);
  });
}

TEST_P(descriptor_turns, NE_close_and_the_deadline_end_all_that_wait_for_their_turn) {
  static constexpr int writers = 50;
  for (bool const closes : {true, false}) {
    run([closes] {
      auto ab = test::socket_pair();
      fill(ab.a);
      std::atomic<int> as_expected{0};
      wait_group all;
      for (int i = 0; i < writers; ++i) {
        all.go([&] {
          std::error_code error;
          ab.a.write_all(std::string_view("x"), error);
          if (error == (closes ? std::errc::operation_canceled : std::errc::timed_out)) ++as_expected;
        });
      }
      ASSERT_TRUE(test::wait_until([] { return test::waiting_for(rt::wait_reason::io) == writers; }));
      if (closes)
        ab.a.close();
      else
        ab.a.set_write_deadline(clock::now() - 1s);
      all.wait();
      EXPECT_EQ(as_expected, writers);
    });
  }
}

// The lock and the count survive that it is handed on thousands of times while others open and close it.
TEST_P(descriptor_turns, NE_none_is_lost_when_calls_are_short) {
  run([] {
    auto ab = test::socket_pair();
    wait_group all;
    for (int i = 0; i < 16; ++i) {
      all.go([&] {
        for (int n = 0; n < 500; ++n) ab.a.write_all(std::string_view("abcd"));
      });
    }
    std::size_t left = std::size_t{16} * 500 * 4;
    std::vector<char> to(1000);
    while (left != 0) left -= ab.b.read_some({to.data(), std::min(left, to.size())});
    all.wait();
    ab.a.close();
  });
}

}  // namespace
}  // namespace thrum
