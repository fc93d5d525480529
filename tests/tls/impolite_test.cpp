// Peers that take nothing, and peers that are gone.
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/sockets.h"
#include "support/wait_until.h"
#include "tls/streams.h"

#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <openssl/ssl.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::wait_until;

class tls_impolite : public test::at_every_width {};
THRUM_AT_WIDTHS(tls_impolite, 1, 2, 8);

// Whether f() returns. If it hangs the stream is closed, which ends it.
template <class F>
bool returns(tls_stream& over, F f) {
  std::atomic<bool> done{false};
  auto call = spawn([&] {
    f();
    done = true;
  });
  bool const in_time = wait_until([&] { return done.load(); });
  if (!in_time) over.close();
  call.join();
  return in_time;
}

void ask_for_new_keys(tls_stream& over, std::error_code& error) {
  EXPECT_EQ(SSL_key_update(over.native_handle(), SSL_KEY_UPDATE_REQUESTED), 1);
  over.write_all("x", error);
}

// Until the peer's buffers are full. How much was taken.
std::size_t fill(tls_stream& to, std::string const& with) {
  std::error_code error;
  std::size_t taken = 0;
  while (taken == 0) {  // on a slow machine the time may be over before the first byte
    to.set_write_deadline(50ms);
    taken = to.write_all(with, error);
    EXPECT_EQ(error, std::errc::timed_out);
  }
  to.set_write_deadline(tls_stream::no_deadline);
  return taken;
}

TEST_P(tls_impolite, TLS_a_read_does_not_wait_until_its_answer_to_a_key_update_is_taken) {
  run([] {
    test::tls_pair both = test::ready_pair();
    std::string much(8 << 20, 'm');
    much.resize(fill(both.server, much));
    std::error_code error;
    ask_for_new_keys(both.client, error);
    std::array<char, 1> byte{};
    EXPECT_TRUE(returns(both.server, [&] { EXPECT_EQ(both.server.read_some(byte), 1U); }));
    both.server.set_read_deadline(20ms);
    EXPECT_TRUE(returns(both.server, [&] { both.server.read_some(byte, error); }));
    EXPECT_EQ(error, std::errc::timed_out);
    // Nothing was lost or mixed up.
    auto writer = spawn([&] { both.server.write_all(":end"); });
    std::string got(much.size() + 4, '\0');
    EXPECT_EQ(both.client.read_full(got), got.size());
    EXPECT_TRUE(got == much + ":end");
    writer.join();
  });
}

TEST_P(tls_impolite, TLS_what_a_call_left_goes_out_with_reads_too) {
  run([] {
    test::tls_pair both = test::ready_pair();
    std::string much(8 << 20, 'm');
    much.resize(fill(both.server, much));
    std::atomic<bool> all_came{false};
    auto reader = spawn([&] {
      std::error_code error;
      all_came = both.client.read_full(much, error) == much.size();
    });
    EXPECT_TRUE(wait_until([&] {
      std::array<char, 1> byte{};
      std::error_code error;
      both.server.set_read_deadline(5ms);
      both.server.read_some(byte, error);
      return all_came.load();
    }));
    both.server.close();
    reader.join();
  });
}

// The writer is stuck, so that the answers to all these key updates can only be kept.
TEST_P(tls_impolite, TLS_a_peer_that_asks_and_takes_no_answer_does_not_fill_the_memory) {
  run([] {
    test::tls_pair both = test::ready_pair();
    auto writer = spawn([&] {
      std::string const much(64 << 20, 'm');
      std::error_code error;
      both.server.write_all(much, error);
    });
    EXPECT_TRUE(wait_until([] { return test::waiting_for(rt::wait_reason::io) == 1; }));
    auto flood = spawn([&] {
      std::error_code error;
      for (int round = 0; round < 6'000 && !error; ++round) ask_for_new_keys(both.client, error);
      both.client.close(error);
    });
    std::array<char, 1> byte{};
    std::error_code error;
    while (both.server.read_some(byte, error) != 0) {
    }
    EXPECT_EQ(error, tls_errc::answers_not_taken) << error.message();
    both.server.close();
    writer.join();
    flood.join();
  });
}

// The first read happens at once, and all others after the goroutines of `until_gone` have ended.
class reads_later : public unix_conn {
 public:
  reads_later(unix_conn conn, wait_group& until_gone) : unix_conn(std::move(conn)), until_gone_(&until_gone) {}

  std::size_t read_some(mutable_buffer to, std::error_code& error) {
    if (std::exchange(has_read_, true)) until_gone_->wait();
    return unix_conn::read_some(to, error);
  }

 private:
  wait_group* until_gone_;
  bool has_read_ = false;
};

// The client has left when the server sends its session tickets.
TEST_P(tls_impolite, TLS_what_a_client_said_before_it_left_is_heard) {
  run([] {
    auto ends = unix_conn::pair();
    wait_group client;
    client.go([&] {
      auto conn = tls_stream::client(std::move(ends.first), test::good_client(), "localhost");
      conn.write_all("one line of a log");
      conn.close();
    });
    auto server = tls_stream::server(reads_later(std::move(ends.second), client), test::good_server());
    std::string heard(64, '\0');
    std::error_code error;
    EXPECT_EQ(test::read_to_end(server, heard), 17U);
    EXPECT_STREQ(heard.c_str(), "one line of a log");
    server.write_all("whom?", error);
    EXPECT_EQ(error, std::errc::broken_pipe) << error.message();
    client.wait();
  });
}

TEST_P(tls_impolite, TLS_a_connections_own_deadline_holds_until_one_is_set) {
  run([] {
    auto ends = unix_conn::pair();
    ends.first.set_deadline(clock::now() - 1s);
    test::tls_pair both{tls_stream::client(std::move(ends.first), test::good_client(), "localhost"),
                        tls_stream::server(std::move(ends.second), test::good_server())};
    std::error_code error;
    both.client.handshake(error);
    EXPECT_EQ(error, std::errc::timed_out);
    both.client.set_deadline(tls_stream::no_deadline);
    auto server = spawn([&] { return test::answer_all(both.server); });
    both.client.handshake(error);
    EXPECT_FALSE(error) << error.message();
    both.client.close();
    EXPECT_FALSE(server.join());
  });
}

TEST_P(tls_impolite, TLS_a_write_in_the_handshake_ends_by_the_write_deadline_beside_a_reader_without_one) {
  run([] {
    auto both = test::quiet_pair(test::good_client(), test::good_server());
    std::error_code error;
    both.client.set_write_deadline(20ms);
    EXPECT_TRUE(returns(both.client, [&] { both.client.write_all("x", error); }));
    EXPECT_EQ(error, std::errc::timed_out);
    both.client.set_write_deadline(tls_stream::no_deadline);
    std::array<char, 1> byte{};
    auto reader = spawn([&] { EXPECT_EQ(both.client.read_some(byte), 1U); });
    EXPECT_TRUE(wait_until([] { return test::waiting_for(rt::wait_reason::io) == 1; }));
    both.client.set_write_deadline(20ms);
    EXPECT_TRUE(returns(both.client, [&] { both.client.write_all("x", error); }));
    EXPECT_EQ(error, std::errc::timed_out);
    both.client.set_write_deadline(tls_stream::no_deadline);
    auto server = spawn([&] { return test::answer_all(both.server); });
    both.client.handshake();  // does not wait for the reader, which gets its byte only later
    both.client.write_all("x");
    reader.join();
    both.client.close();
    EXPECT_FALSE(server.join());
  });
}

}  // namespace
}  // namespace thrum
