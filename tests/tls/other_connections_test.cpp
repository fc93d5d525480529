// TLS over a connection that is no descriptor, so that it cannot write without waiting.
#include "support/run_at.h"
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

// It has only the calls that TLS needs.
class bare_conn {
 public:
  explicit bare_conn(unix_conn conn) noexcept : conn_(std::move(conn)) {}

  std::size_t read_some(mutable_buffer to, std::error_code& error) { return conn_.read_some(to, error); }
  std::size_t write_all(const_buffer from, std::error_code& error) { return conn_.write_all(from, error); }
  void close(std::error_code& error) { conn_.close(error); }
  void set_read_deadline(clock::time_point when, std::error_code& error) { conn_.set_read_deadline(when, error); }
  void set_write_deadline(clock::time_point when, std::error_code& error) { conn_.set_write_deadline(when, error); }

 private:
  unix_conn conn_;
};

// The server's connection is no descriptor.
test::tls_pair ready_pair() {
  auto ends = unix_conn::pair();
  test::tls_pair both{tls_stream::client(std::move(ends.first), test::good_client(), "localhost"),
                      tls_stream::server(bare_conn(std::move(ends.second)), test::good_server())};
  auto const seen = test::shake_hands(both);
  EXPECT_FALSE(seen.client) << seen.client.message();
  EXPECT_FALSE(seen.server) << seen.server.message();
  return both;
}

// With the byte comes a request that the server answers.
void ask_for_new_keys(tls_stream& over) {
  EXPECT_EQ(SSL_key_update(over.native_handle(), SSL_KEY_UPDATE_REQUESTED), 1);
  over.write_all("x");
}

class tls_over_others : public test::at_every_width {};
THRUM_AT_WIDTHS(tls_over_others, 1, 2, 8);

TEST_P(tls_over_others, TLS_a_read_does_not_wait_to_send) {
  run([] {
    test::tls_pair both = ready_pair();
    std::string const much(8 << 20, 'm');
    std::error_code error;
    std::size_t taken = 0;
    while (taken == 0) {  // on a slow machine the time may be over before the first byte
      both.server.set_write_deadline(50ms);
      taken = both.server.write_all(much, error);
      EXPECT_EQ(error, std::errc::timed_out);
    }
    both.server.set_write_deadline(tls_stream::no_deadline);
    ask_for_new_keys(both.client);
    std::atomic<bool> has_read{false};
    auto reader = spawn([&] {
      std::array<char, 1> byte{};
      std::error_code read_error;
      EXPECT_EQ(both.server.read_some(byte, read_error), 1U);
      has_read = true;
    });
    EXPECT_TRUE(test::wait_until([&] { return has_read.load(); }, 10'000'000'000));
    both.client.close(error);  // otherwise a read that waits to send would wait for good
    reader.join();
  });
}

TEST_P(tls_over_others, TLS_what_a_read_has_to_send_goes_out_with_the_next_write) {
  run([] {
    test::tls_pair both = ready_pair();
    std::array<char, 2> bytes{};
    for (int round = 0; round < 10; ++round) {
      ask_for_new_keys(both.client);
      EXPECT_EQ(both.server.read_some(bytes), 1U);
      both.server.write_all("yz");
      EXPECT_EQ(both.client.read_full(bytes), 2U);
      EXPECT_EQ((std::string(bytes.data(), 2)), "yz");
    }
  });
}

TEST_P(tls_over_others, TLS_what_a_read_has_to_send_goes_out_with_close) {
  run([] {
    test::tls_pair both = ready_pair();
    std::array<char, 1> byte{};
    ask_for_new_keys(both.client);
    EXPECT_EQ(both.server.read_some(byte), 1U);
    both.server.close();
    std::error_code error;
    EXPECT_EQ(both.client.read_some(byte, error), 0U);
    EXPECT_FALSE(error) << error.message();  // close_notify came, and what it was behind
  });
}

}  // namespace
}  // namespace thrum
