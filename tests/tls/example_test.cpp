// The examples in the comments of <thrum/tls.h> and its headers, and examples/tls_echo.cpp.
#include "support/child.h"
#include "tls/certificates.h"
#include <thrum/thrum.h>
#include <thrum/tls.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;

TEST(headers, tls_h) {
  thrum::run([] {
    auto const files = thrum::test::good_papers().files;
    auto server = thrum::tls_context::server({.identities = {files}});
    auto listener = thrum::tcp_listener::listen("127.0.0.1:0");
    auto served = thrum::spawn([&] {
      auto conn = thrum::tls_stream::server(listener.accept(), server);
      conn.set_deadline(1min);
      conn.handshake();
      std::array<char, 64> bytes;
      auto const n = conn.read_some(bytes);
      conn.write_all({bytes.data(), n});
      conn.close();
    });
    auto trust = thrum::tls_context::client({.roots_file = thrum::test::roots()});
    auto conn = thrum::tls_stream::dial(listener.local_endpoint().to_string(), trust, 1min);
    conn.write_all("hello");
    std::string answer(5, '\0');
    answer.resize(conn.read_full(answer));
    EXPECT_EQ(answer, "hello");
    served.join();
  });
}

TEST(headers, tls_context_h) {
  thrum::run([] {
    auto const papers_for = [](std::string const& name) {
      return thrum::test::issue({.common_name = name, .names = "DNS:" + name}, &thrum::test::authority()).files;
    };
    auto own = thrum::tls_context::client({.roots_file = thrum::test::roots(), .protocols = {"http/1.1", "h2"}});
    auto server = thrum::tls_context::server(
        {.identities = {papers_for("example.org"), papers_for("example.net")}, .protocols = {"h2", "http/1.1"}});
    for (std::string const host : {"example.org", "example.net"}) {
      auto ends = thrum::unix_conn::pair();
      auto served = thrum::spawn([&] {
        auto conn = thrum::tls_stream::server(std::move(ends.first), server);
        conn.handshake();
        return conn.server_name();
      });
      auto conn = thrum::tls_stream::client(std::move(ends.second), own, host);
      conn.handshake();
      EXPECT_EQ(conn.peer_name(), host);
      EXPECT_EQ(conn.protocol(), "h2") << "the server's choice";
      EXPECT_EQ(served.join(), host);
    }
    std::error_code error;
    static_cast<void>(thrum::tls_context::client({.roots_file = "not_there.pem"}, error));
    EXPECT_TRUE(error);
  });
}

TEST(headers, tls_error_h) {
  thrum::run([] {
    auto ends = thrum::unix_conn::pair();
    auto const server = thrum::tls_context::server({.identities = {thrum::test::good_papers().files}});
    auto served = thrum::spawn([&] {
      std::error_code is_refused;
      thrum::tls_stream::server(std::move(ends.first), server).handshake(is_refused);
    });
    auto const trust = thrum::tls_context::client({.roots_file = thrum::test::roots()});
    try {
      thrum::tls_stream::client(std::move(ends.second), trust, "example.org").handshake();
      FAIL() << "shook hands";
    } catch (std::system_error const& e) {
      EXPECT_EQ(e.code(), thrum::tls_errc::wrong_host);
      EXPECT_TRUE(thrum::is_certificate_error(e.code()));
      EXPECT_STREQ(e.what(), "thrum: handshake: certificate verify failed: hostname mismatch");
    }
    served.join();
  });
}

TEST(examples, tls_echo) {
  auto const program = thrum::test::this_program().parent_path() / "example_tls_echo";
  if (!std::filesystem::exists(program)) GTEST_SKIP() << program << " was not built";
  auto const& files = thrum::test::good_papers().files;
  auto const seen = thrum::test::run_program(
      program,
      {.arguments = files.chain_file + " " + files.key_file + " " + thrum::test::roots() + " 10", .environment = ""});
  EXPECT_EQ(seen.code, 0) << seen.text;
  EXPECT_EQ(seen.text, "10 clients had every line answered\n");
}

}  // namespace
