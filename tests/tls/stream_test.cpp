// TLS streams: bytes, ends, many connections at once.
#include "support/run_at.h"
#include "support/scale.h"
#include "support/sockets.h"
#include "tls/streams.h"

#include <array>
#include <chrono>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::scaled;

class tls_streams : public test::at_every_width {};
THRUM_AT_WIDTHS(tls_streams, 1, 2, 8);

std::string text_of_length(std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>('a' + (i * 7 + i / 251) % 26);
  return text;
}

TEST_P(tls_streams, TLS_thousands_of_small_messages_are_echoed_over_tcp) {
  run([] {
    auto listener = tcp_listener::listen("127.0.0.1:0");
    auto server = spawn([&, context = test::good_server()] {
      auto conn = tls_stream::server(listener.accept(), context);
      return test::answer_all(conn);
    });
    auto conn = tls_stream::dial(listener.local_endpoint().to_string(), test::good_client(), 30s);
    EXPECT_EQ(conn.version(), "TLSv1.3");
    EXPECT_FALSE(conn.cipher().empty());
    EXPECT_EQ(conn.peer_name(), "localhost");
    ASSERT_NE(conn.connection<tcp_conn>(), nullptr);
    EXPECT_EQ(conn.connection<tcp_conn>()->remote_endpoint(), listener.local_endpoint());
    EXPECT_EQ(conn.connection<unix_conn>(), nullptr);
    for (std::int64_t round = scaled(3'000, 300); round > 0; --round) {
      std::string const said = "message " + std::to_string(round);
      std::string heard(said.size(), '\0');
      conn.write_all(said);
      ASSERT_EQ(conn.read_full(heard), said.size());
      ASSERT_EQ(heard, said);
    }
    conn.close();
    EXPECT_FALSE(server.join());
  });
}

// Four goroutines on two streams: each reads and writes at once.
TEST_P(tls_streams, TLS_ten_megabytes_go_both_ways_at_once) {
  run([] {
    test::tls_pair both = test::ready_pair();
    std::string const much = text_of_length(static_cast<std::size_t>(scaled(10 << 20, 1 << 20)));
    auto const exchange = [&](tls_stream& over) {
      auto writer = spawn([&] {
        over.write_all(much);
        over.shutdown();
      });
      std::string got(much.size() + 1, '\0');
      EXPECT_EQ(test::read_to_end(over, got), much.size());
      got.pop_back();
      EXPECT_TRUE(got == much);
      writer.join();
    };
    auto server = spawn([&] { exchange(both.server); });
    exchange(both.client);
    server.join();
  });
}

TEST_P(tls_streams, TLS_parts_arrive_in_order_and_nothing_is_written_as_nothing) {
  run([] {
    test::tls_pair both = test::ready_pair();
    std::string const body = text_of_length(100'000);
    std::array<const_buffer, 4> const parts{"head:", const_buffer(), body, ":tail"};
    auto writer = spawn([&] {
      EXPECT_EQ(both.client.write_all(parts), body.size() + 10);
      EXPECT_EQ(both.client.write_all(const_buffer()), 0U);
      EXPECT_EQ(both.client.write_some("x"), 1U);
    });
    std::string got(body.size() + 11, '\0');
    EXPECT_EQ(both.server.read_full(got), got.size());
    EXPECT_EQ(got, "head:" + body + ":tailx");
    EXPECT_EQ(both.server.read_some({got.data(), 0}), 0U);
    writer.join();
  });
}

TEST_P(tls_streams, TLS_messages_of_several_writers_stay_whole) {
  run([] {
    test::tls_pair both = test::ready_pair();
    constexpr std::size_t length = 100'000;
    wait_group all;
    for (char letter : {'a', 'b', 'c'}) all.go([&, letter] { both.client.write_all(std::string(length, letter)); });
    std::string got(length, '\0');
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(both.server.read_full(got), length);
      EXPECT_EQ(got, std::string(length, got[0]));
    }
    all.wait();
  });
}

TEST_P(tls_streams, TLS_after_shutdown_the_other_half_goes_on) {
  run([] {
    test::tls_pair both = test::ready_pair();
    both.client.write_all("question");
    both.client.shutdown();
    std::error_code error;
    EXPECT_EQ(both.client.write_all("more", error), 0U);
    EXPECT_EQ(error, std::errc::broken_pipe);
    std::array<char, 64> bytes{};
    EXPECT_EQ(both.server.read_full(bytes, error), 8U);
    EXPECT_EQ(error, io_errc::unexpected_end);
    EXPECT_EQ(both.server.read_some(bytes), 0U);
    both.server.write_all("answer");
    both.server.close();
    EXPECT_EQ(test::read_to_end(both.client, bytes), 6U);
    EXPECT_EQ(both.client.read_some(bytes), 0U);
    EXPECT_FALSE(both.server.is_open());
    both.server.close(error);
    EXPECT_EQ(error, std::errc::bad_file_descriptor);
    both.server.write_all("x", error);
    EXPECT_EQ(error, std::errc::operation_canceled);
  });
}

// An attacker who cuts the connection cannot make a message look complete.
TEST_P(tls_streams, TLS_an_end_without_goodbye_is_an_error) {
  run([] {
    std::array<char, 64> bytes{};
    std::error_code error;
    test::tls_pair both = test::ready_pair();
    both.server.write_all("half of");
    both.server.connection<unix_conn>()->shutdown_write();
    EXPECT_EQ(both.client.read_full(bytes, error), 7U);
    EXPECT_EQ(error, tls_errc::unexpected_end);
    EXPECT_EQ(both.client.read_some(bytes, error), 0U);
    EXPECT_EQ(error, tls_errc::unexpected_end);

    both = test::ready_pair();
    both.server = tls_stream();  // destroyed
    EXPECT_EQ(both.client.read_some(bytes, error), 0U);
    EXPECT_EQ(error, tls_errc::unexpected_end) << error.message();
    EXPECT_THROW(both.client.read_some(bytes), std::system_error);
  });
}

// A goroutine that has done its part of the handshake and waits for the answer must not hold back the data that the
// peer has to answer.
TEST_P(tls_streams, TLS_a_reader_and_a_writer_begin_at_once) {
  run([] {
    for (std::int64_t round = scaled(100, 20); round > 0; --round) {
      test::tls_pair both = test::quiet_pair(test::good_client(), test::good_server());
      auto server = spawn([&] { return test::answer_all(both.server); });
      both.client.set_deadline(1min);
      auto writer = spawn([&] { both.client.write_all("hello"); });
      std::array<char, 5> bytes{};
      ASSERT_EQ(both.client.read_full(bytes), bytes.size());
      writer.join();
      both.client.close();
      EXPECT_FALSE(server.join());
    }
  });
}

TEST_P(tls_streams, TLS_runs_over_pairs_of_descriptors_and_over_itself) {
  run([] {
    auto ends = test::socket_pair();
    auto outer_client = tls_stream::client(std::move(ends.a), test::good_client(), "localhost");
    auto outer_server = tls_stream::server(std::move(ends.b), test::good_server());
    auto server = spawn([&] {
      auto inner = tls_stream::server(std::move(outer_server), test::good_server());
      return test::answer_all(inner);
    });
    auto inner = tls_stream::client(std::move(outer_client), test::good_client(), "localhost");
    inner.set_deadline(1min);
    std::string const said = text_of_length(70'000);
    auto writer = spawn([&] { inner.write_all(said); });
    std::string heard(said.size(), '\0');
    EXPECT_EQ(inner.read_full(heard), said.size());
    EXPECT_EQ(heard, said);
    writer.join();
    inner.close();
    EXPECT_FALSE(server.join());
  });
}

TEST_P(tls_streams, TLS_a_thread_that_is_no_goroutines_speaks_it_too) {
  run([] {
    test::tls_pair both = test::quiet_pair(test::good_client(), test::good_server());
    auto server = spawn([&] { return test::answer_all(both.server); });
    std::thread thread([&] {
      both.client.set_deadline(1min);
      std::array<char, 5> bytes{};
      for (int i = 0; i < 10; ++i) {
        both.client.write_all("hello");
        EXPECT_EQ(both.client.read_full(bytes), bytes.size());
      }
      both.client.close();
    });
    EXPECT_FALSE(server.join());
    blocking([&] { thread.join(); }, blocking_hint::long_call);
  });
}

TEST_P(tls_streams, TLS_a_stream_that_is_none_says_so) {
  run([] {
    tls_stream none;
    std::array<char, 8> bytes{};
    std::error_code error;
    EXPECT_FALSE(none);
    EXPECT_EQ(none.read_some(bytes, error), 0U);
    EXPECT_EQ(error, std::errc::bad_file_descriptor);
    EXPECT_THROW(none.handshake(), std::system_error);
    EXPECT_EQ(none.version(), "");
    auto both = test::quiet_pair(test::good_client(), test::good_server());
    EXPECT_EQ(both.client.peer_name(), "");  // not yet known
    both.client.shutdown(error);
    EXPECT_EQ(error, std::errc::not_connected);
  });
}

}  // namespace
}  // namespace thrum
