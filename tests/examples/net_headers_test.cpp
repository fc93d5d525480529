// The examples in the comments of the headers that <thrum/net.h> and <thrum/io.h> include. headers_test.cpp has the
// examples of the other headers.
#include <thrum/thrum.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include <gtest/gtest.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

std::string fresh_path(char const* name) {
  auto const path = std::filesystem::temp_directory_path() / (std::string(name) + std::to_string(::getpid()));
  std::filesystem::remove(path);
  return path.string();
}

TEST(headers, buffer_h) {
  thrum::run([] {
    auto [conn, other] = thrum::unix_conn::pair();
    std::array<char, 4096> in;
    conn.write_all("hello\n");
    std::size_t n = other.read_some(in);
    EXPECT_EQ(n, 6U) << "without the zero at its end";
    other.write_all(std::string_view(in.data(), n));
    std::string const head = "head ";
    std::string const body = "body";
    std::array<thrum::const_buffer, 2> parts{head, body};
    other.write_all(parts);
    EXPECT_EQ(conn.read_full({in.data(), 15}), 15U);
    EXPECT_EQ(std::string_view(in.data(), 15), "hello\nhead body");
    std::array<int, 3> numbers{};
    EXPECT_EQ(thrum::mutable_buffer(numbers).size(), sizeof numbers) << "in bytes";
  });
}

TEST(headers, fd_h) {
  thrum::run([] {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    thrum::fd in(ends[0]), out(ends[1]);
    auto writer = thrum::spawn([&] {
      out.write_all("hello");
      out.close();
    });
    std::array<char, 5> text;
    std::size_t n = in.read_full(text);
    EXPECT_EQ(std::string_view(text.data(), n), "hello");
    writer.join();

    auto [quiet, other] = thrum::unix_conn::pair();
    quiet.set_read_deadline(1ms);
    std::error_code error;
    EXPECT_EQ(quiet.read_some(text, error), 0U);
    EXPECT_EQ(error, std::errc::timed_out);
    quiet.close();
    EXPECT_THROW(quiet.read_some(text), std::system_error);
  });
}

TEST(headers, file_h) {
  std::string const path = fresh_path("thrum_headers_file_");
  thrum::run([&] {
    auto log = thrum::file::open(path, thrum::open_for::append);
    log.write_all("started\n");
    log.write_all("ended\n");
    auto in = thrum::file::open(path, thrum::open_for::read);
    std::array<char, 4096> page;
    std::size_t n = in.read_at(page, 8);
    EXPECT_EQ(std::string_view(page.data(), n), "ended\n");
    EXPECT_EQ(in.read_at(page, 8192), 0U) << "behind the end";
  });
  std::filesystem::remove(path);
}

TEST(headers, endpoint_h) {
  auto where = thrum::endpoint::parse("127.0.0.1:8080");
  EXPECT_EQ(where.host(), "127.0.0.1");
  EXPECT_EQ(where.port(), 8080);
  EXPECT_TRUE(thrum::endpoint::parse("[::1]:8080").is_v6());
  auto there = thrum::endpoint::unix_path("/run/service.sock");
  EXPECT_EQ(there.to_string(), "/run/service.sock");
  EXPECT_TRUE(thrum::endpoint::unix_path("@name").is_unix());
  std::error_code error;
  static_cast<void>(thrum::endpoint::parse("localhost:8080", error));
  EXPECT_EQ(error, std::errc::invalid_argument) << "a number, no name";
  static_assert(sizeof(thrum::endpoint) == 120);

  thrum::run([] {
    auto const all = thrum::resolve("127.0.0.1", 8080, 1min);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0], thrum::endpoint::parse("127.0.0.1:8080"));
  });
}

TEST(headers, tcp_h) {
  thrum::run([] {
    constexpr int clients = 3;
    auto listener = thrum::tcp_listener::listen("127.0.0.1:0");
    thrum::wait_group ended;
    auto server = thrum::spawn([&] {
      for (int i = 0; i < clients; ++i) {
        ended.go([conn = listener.accept()]() mutable {
          std::array<char, 4096> bytes;
          while (auto n = conn.read_some(bytes)) conn.write_all({bytes.data(), n});
        });
      }
    });
    for (int i = 0; i < clients; ++i) {
      auto conn = thrum::tcp_conn::dial(listener.local_endpoint().to_string(), 1min);
      conn.write_all("hello");
      conn.shutdown_write();
      std::string answer(5, '\0');
      answer.resize(conn.read_full(answer));
      EXPECT_EQ(answer, "hello");
    }
    server.join();
    ended.wait();
  });
}

TEST(headers, udp_h) {
  thrum::run([] {
    auto other = thrum::udp_socket::bind("127.0.0.1:0");
    auto mine = thrum::udp_socket::bind("127.0.0.1:0");
    mine.send_to("hello", thrum::endpoint::parse(other.local_endpoint().to_string()));
    std::array<char, 1500> bytes;
    thrum::endpoint from;
    std::size_t n = other.recv_from(bytes, from);
    EXPECT_EQ(std::string_view(bytes.data(), n), "hello");
    EXPECT_EQ(from, mine.local_endpoint());

    auto to_one = thrum::udp_socket::connect(other.local_endpoint().to_string(), 1min);
    to_one.write_some("again");
    EXPECT_EQ(other.recv_from(bytes, from), 5U);
    other.send_to("back", from);
    EXPECT_EQ(to_one.read_some(bytes), 4U);
  });
}

TEST(headers, unix_h) {
  std::string const path = fresh_path("thrum_headers_unix_");
  thrum::run([&] {
    auto listener = thrum::unix_listener::listen(path);
    std::error_code error;
    EXPECT_FALSE(thrum::unix_listener::listen(path, thrum::unix_type::stream, error).is_open());
    EXPECT_EQ(error, std::errc::address_in_use);
    auto conn = thrum::unix_conn::dial(path, 1min);
    auto peer = listener.accept();
    conn.write_all("hello");
    std::array<char, 64> bytes;
    EXPECT_EQ(peer.read_some(bytes), 5U);

    auto [a, b] = thrum::unix_conn::pair(thrum::unix_type::seqpacket);
    a.write_all("one");
    a.write_all("three");
    EXPECT_EQ(b.read_some(bytes), 3U);
    EXPECT_EQ(b.read_some(bytes), 5U);
  });
  EXPECT_FALSE(std::filesystem::exists(path)) << "removed with the listener";
}

TEST(headers, signals_h) {
  auto* const before = std::signal(SIGUSR2, SIG_IGN);
  thrum::run([] {
    auto stop = thrum::signals(SIGUSR1, SIGUSR2);
    ASSERT_EQ(std::raise(SIGUSR2), 0);
    int came = 0;
    thrum::select(thrum::on_recv(stop, [&](auto number) { came = *number; }), thrum::on_timeout(1min));
    EXPECT_EQ(came, SIGUSR2);
    thrum::stop_signals(stop);

    std::error_code error;
    EXPECT_FALSE(thrum::signals({SIGTERM, SIGKILL}, error));
    EXPECT_EQ(error, std::errc::invalid_argument);
  });
  EXPECT_EQ(std::signal(SIGUSR2, before), SIG_IGN) << "what it did before";
}

}  // namespace
