// Deadlines, and closing from elsewhere.
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include "tls/streams.h"

#include <array>
#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::scaled;
using test::wait_until;

class tls_deadlines_of : public test::at_every_width {};
THRUM_AT_WIDTHS(tls_deadlines_of, 1, 2, 8);

bool a_reader_waits_for_input() {
  return wait_until([] { return test::waiting_for(rt::wait_reason::io) > 0; });
}

TEST_P(tls_deadlines_of, TLS_a_handshake_that_timed_out_goes_on_later) {
  run([] {
    auto both = test::quiet_pair(test::good_client(), test::good_server());
    std::error_code error;
    both.client.set_deadline(20ms);
    both.client.handshake(error);
    EXPECT_EQ(error, std::errc::timed_out);
    both.client.handshake(error);
    EXPECT_EQ(error, std::errc::timed_out);
    std::array<char, 8> bytes{};
    EXPECT_EQ(both.client.read_some(bytes, error), 0U);
    EXPECT_EQ(error, std::errc::timed_out);
    both.client.set_deadline(tls_stream::no_deadline);
    auto const seen = test::shake_hands(both);
    EXPECT_FALSE(seen.client) << seen.client.message();
    EXPECT_FALSE(seen.server) << seen.server.message();
  });
}

TEST_P(tls_deadlines_of, TLS_a_read_ends_at_its_deadline_also_when_that_is_set_later) {
  run([] {
    test::tls_pair both = test::ready_pair();
    std::array<char, 8> bytes{};
    std::error_code error;
    both.client.set_read_deadline(20ms);
    EXPECT_EQ(both.client.read_some(bytes, error), 0U);
    EXPECT_EQ(error, std::errc::timed_out);
    both.client.set_read_deadline(tls_stream::no_deadline);
    auto reader = spawn([&] {
      std::error_code seen;
      both.client.read_some(bytes, seen);
      return seen;
    });
    EXPECT_TRUE(a_reader_waits_for_input());
    both.client.set_read_deadline(clock::now() - 1s);
    EXPECT_EQ(reader.join(), std::errc::timed_out);
    // A deadline that is over counts even if there is something to read, as for descriptors. Writing has its own.
    both.server.write_all("late");
    EXPECT_EQ(both.client.read_some(bytes, error), 0U);
    EXPECT_EQ(error, std::errc::timed_out);
    EXPECT_EQ(both.client.write_all("x"), 1U);
    both.client.set_deadline(1min);
    EXPECT_EQ(both.client.read_some(bytes), 4U);
  });
}

// The peer reads nothing until the writer has given up; what it had taken is not lost, and nothing comes twice.
TEST_P(tls_deadlines_of, TLS_a_write_that_timed_out_goes_on_where_it_was) {
  run([] {
    test::tls_pair both = test::ready_pair();
    std::string const much(8 << 20, 'm');
    std::error_code error;
    std::size_t taken = 0;
    while (taken == 0) {  // on a slow machine the time may be over before the first byte
      both.client.set_write_deadline(50ms);
      taken = both.client.write_all(much, error);
      EXPECT_EQ(error, std::errc::timed_out);
    }
    ASSERT_LT(taken, much.size());
    EXPECT_EQ(both.client.write_all("never taken", error), 0U);
    EXPECT_EQ(error, std::errc::timed_out);
    both.client.set_write_deadline(tls_stream::no_deadline);
    auto reader = spawn([&] {
      std::string got(much.size() + 4, '\0');
      EXPECT_EQ(both.server.read_full(got), got.size());
      return got;
    });
    both.client.write_all({much.data(), much.size() - taken});
    both.client.write_all(":end");
    EXPECT_TRUE(reader.join() == much + ":end");
  });
}

TEST_P(tls_deadlines_of, TLS_close_ends_a_reader_and_a_writer_and_a_handshake) {
  run([] {
    test::tls_pair both = test::ready_pair();
    auto reader = spawn([&] {
      std::array<char, 8> bytes{};
      std::error_code error;
      both.client.read_some(bytes, error);
      return error;
    });
    auto writer = spawn([&] {
      std::string const much(64 << 20, 'm');
      std::error_code error;
      both.client.write_all(much, error);
      return error;
    });
    EXPECT_TRUE(wait_until([] { return test::waiting_for(rt::wait_reason::io) == 2; }));
    both.client.close();  // and no goodbye is tried behind a writer that is stuck
    EXPECT_EQ(reader.join(), std::errc::operation_canceled);
    EXPECT_EQ(writer.join(), std::errc::operation_canceled);

    auto young = test::quiet_pair(test::good_client(), test::good_server());
    auto shaking = spawn([&] {
      std::error_code error;
      young.client.handshake(error);
      return error;
    });
    EXPECT_TRUE(a_reader_waits_for_input());
    young.client.close();
    EXPECT_EQ(shaking.join(), std::errc::operation_canceled);
    std::error_code error;
    both.client.handshake(error);  // though it was done
    EXPECT_EQ(error, std::errc::operation_canceled);
    young.client.set_deadline(1s, error);
    EXPECT_EQ(error, std::errc::operation_canceled);
  });
}

// At every moment of their ways.
TEST_P(tls_deadlines_of, TLS_close_and_deadlines_meet_goroutines_that_are_about_to_wait) {
  run([] {
    auto const client = test::good_client();
    auto const server = test::good_server();
    for (std::int64_t round = scaled(100, 20); round > 0; --round) {
      test::tls_pair both = test::ready_pair(client, server);
      auto const use = [&](auto call) {
        return spawn([&both, call] {
          std::error_code error;
          while (!error) call(both.client, error);
          return error;
        });
      };
      std::array<char, 512> bytes{};
      auto reader = use([&](tls_stream& s, std::error_code& e) { s.read_some(bytes, e); });
      auto writer = use([](tls_stream& s, std::error_code& e) { s.write_all("some words", e); });
      auto other = spawn([&] { return test::answer_all(both.server); });
      for (std::int64_t pause = round % 16; pause > 0; --pause) yield();
      if (round % 2 == 0) {
        both.client.close();
        EXPECT_EQ(reader.join(), std::errc::operation_canceled);
        EXPECT_EQ(writer.join(), std::errc::operation_canceled);
      } else {
        both.client.set_deadline(clock::now() - 1s);
        EXPECT_EQ(reader.join(), std::errc::timed_out);
        EXPECT_EQ(writer.join(), std::errc::timed_out);
        both.client.close();
      }
      static_cast<void>(other.join());  // cut off in the middle, or not
    }
  });
}

TEST_P(tls_deadlines_of, TLS_dial_takes_no_longer_than_its_timeout_with_a_peer_that_is_silent) {
  run([] {
    auto listener = tcp_listener::listen("127.0.0.1:0");
    std::error_code error;
    auto conn = tls_stream::dial(listener.local_endpoint().to_string(), test::good_client(), 50ms, error);
    EXPECT_EQ(error, std::errc::timed_out);
    EXPECT_FALSE(conn);
  });
}

}  // namespace
}  // namespace thrum
