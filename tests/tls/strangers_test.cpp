// Peers that do not speak TLS, or not for long.
#include "support/run_at.h"
#include "support/sockets.h"
#include "tls/streams.h"

#include <array>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace thrum {
namespace {

class tls_strangers : public test::at_every_width {};
THRUM_AT_WIDTHS(tls_strangers, 1, 2, 8);

// What the server says of these bytes instead of a handshake, and what it answers.
std::error_code greet_server_with(std::string_view bytes, std::string& answer) {
  auto ends = unix_conn::pair();
  auto conn = tls_stream::server(std::move(ends.second), test::good_server());
  ends.first.write_all(bytes);
  ends.first.shutdown_write();
  std::error_code error;
  conn.handshake(error);
  std::error_code again;
  conn.handshake(again);
  EXPECT_EQ(again, error);  // it is final
  conn.close();
  answer.resize(1'000);
  answer.resize(test::read_to_end(ends.first, answer));
  return error;
}

TEST_P(tls_strangers, TLS_garbage_plain_http_and_silence_are_errors) {
  run([] {
    std::string answer;
    std::error_code error = greet_server_with("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", answer);
    EXPECT_EQ(error.category(), tls_category());
    EXPECT_NE(error.message().find("http request"), std::string::npos) << error.message();
    error = greet_server_with(std::string(5'000, '\xee'), answer);
    EXPECT_EQ(error.category(), tls_category());
    EXPECT_NE(error.message().find("version"), std::string::npos) << error.message();
    error = greet_server_with("", answer);
    EXPECT_EQ(error, tls_errc::unexpected_end);
    error = greet_server_with("\x16\x03\x01", answer);  // the beginning of a record
    EXPECT_EQ(error, tls_errc::unexpected_end);
  });
}

TEST_P(tls_strangers, TLS_a_client_that_meets_no_tls_says_so) {
  run([] {
    auto ends = unix_conn::pair();
    auto conn = tls_stream::client(std::move(ends.first), test::good_client(), "localhost");
    ends.second.write_all("220 mail.example ready\r\n");
    std::error_code error;
    conn.handshake(error);
    EXPECT_NE(error.message().find("wrong version number"), std::string::npos) << error.message();
    try {
      conn.write_all("x");
      FAIL() << "wrote";
    } catch (std::system_error const& e) {
      EXPECT_EQ(e.code(), error);
      EXPECT_NE(std::string(e.what()).find("thrum: write_all: "), std::string::npos) << e.what();
    }
  });
}

TEST_P(tls_strangers, TLS_a_forged_record_is_refused_and_ends_the_stream) {
  run([] {
    test::tls_pair both = test::ready_pair();
    std::string forged("\x17\x03\x03\x00\x40", 5);
    forged.append(64, 'f');
    both.server.connection<unix_conn>()->write_all(forged);
    std::array<char, 8> bytes{};
    std::error_code error;
    EXPECT_EQ(both.client.read_some(bytes, error), 0U);
    EXPECT_NE(error.message().find("bad record mac"), std::string::npos) << error.message();
    EXPECT_EQ(both.client.write_all("x", error), 0U);
    EXPECT_NE(error.message().find("bad record mac"), std::string::npos) << error.message();
    EXPECT_EQ(both.server.read_some(bytes, error), 0U);  // was told
    EXPECT_NE(error.message().find("alert bad record mac"), std::string::npos) << error.message();
  });
}

}  // namespace
}  // namespace thrum
