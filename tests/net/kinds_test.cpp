// Endpoints, dialling, datagrams, Unix sockets, files, signals: what net.h and io.h offer beside TCP streams.
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/sockets.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;

class net_kinds : public test::at_every_width {};

std::string fresh_path(char const* name) {
  auto const path = std::filesystem::temp_directory_path() / (std::string(name) + std::to_string(::getpid()));
  std::filesystem::remove(path);
  return path;
}

TEST(endpoints, NE_numbers_are_parsed_and_printed) {
  for (char const* const text : {"127.0.0.1:80", "[::1]:65535", "0.0.0.0:0", "[2001:db8::7]:443"}) {
    EXPECT_EQ(endpoint::parse(text).to_string(), text);
  }
  for (char const* const text :
       {"", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "1.2.3:4", "::1:80", "name:80", "[::1]"}) {
    std::error_code error;
    static_cast<void>(endpoint::parse(text, error));
    EXPECT_EQ(error, std::errc::invalid_argument) << text;
    EXPECT_THROW(static_cast<void>(endpoint::parse(text)), std::system_error);
  }
  EXPECT_TRUE(endpoint::parse("127.1.2.3:1").is_loopback());
  EXPECT_FALSE(endpoint::parse("8.8.8.8:53").is_loopback());
  EXPECT_EQ(endpoint::unix_path("/tmp/x").to_string(), "/tmp/x");
  EXPECT_EQ(endpoint::unix_path("@x").to_string(), "@x");
  EXPECT_THROW(static_cast<void>(endpoint::unix_path(std::string(200, 'x'))), std::system_error);
}

TEST_P(net_kinds, NE_dial_by_name_refused_and_closed_ports) {
  run([] {
    auto listener = tcp_listener::listen("127.0.0.1:0");
    auto const port = std::to_string(listener.local_endpoint().port());
    auto conn = tcp_conn::dial("localhost:" + port, 10s);  // perhaps tries IPv6 first, where there is no listener
    EXPECT_TRUE(listener.accept().is_open());
    listener.close();
    std::error_code error;
    EXPECT_FALSE(tcp_conn::dial("127.0.0.1:" + port, error).is_open());
    EXPECT_EQ(error, std::errc::connection_refused);
    EXPECT_FALSE(tcp_conn::dial("no port", error).is_open());
    EXPECT_EQ(error, std::errc::invalid_argument);
    EXPECT_FALSE(resolve("localhost").empty());
    EXPECT_EQ(resolve("127.0.0.1", 80, 0ns).size(), 1U) << "what asks no server needs no time";
    static_cast<void>(resolve("a name that cannot be..", 0, error));
    EXPECT_EQ(error.category(), resolve_category());
    EXPECT_THROW(static_cast<void>(tcp_listener::listen("8.8.8.8:1")), std::system_error);
  });
}

TEST_P(net_kinds, NE_closing_a_listener_wakes_the_goroutines_in_accept) {
  run([] {
    auto listener = tcp_listener::listen(":0");
    auto acceptor = spawn([&] {
      std::error_code error;
      static_cast<void>(listener.accept(error));
      return error;
    });
    EXPECT_TRUE(test::wait_until([] { return test::waiting_for(rt::wait_reason::io) == 1; }));
    listener.close();
    EXPECT_EQ(acceptor.join(), std::errc::operation_canceled);
  });
}

TEST_P(net_kinds, NE_datagrams_one_by_one_and_many_at_once) {
  run([] {
    auto a = udp_socket::bind("127.0.0.1:0");
    auto b = udp_socket::bind("127.0.0.1:0");
    std::array<char, 16> bytes{};
    endpoint from;
    auto receiver = spawn([&] { return b.recv_from(bytes, from); });
    a.send_to("hello", b.local_endpoint());
    EXPECT_EQ(receiver.join(), 5U);
    EXPECT_EQ(from, a.local_endpoint());
    endpoint const to = b.local_endpoint();
    std::vector<datagram_out> out;
    std::string const text = "0123456789abcdefXYZ";
    for (std::size_t i = 0; i < 100; ++i) out.push_back({std::string_view(text).substr(0, i % text.size()), &to});
    EXPECT_EQ(a.send_many(out), out.size());
    std::vector<std::array<char, 16>> rooms(100);
    for (std::size_t got = 0; got < 100;) {
      std::vector<datagram_in> in;
      for (std::size_t i = got; i < 100; ++i) in.push_back({.buffer = rooms[i]});
      std::size_t const more = b.recv_many(in);
      for (std::size_t i = 0; i < more; ++i, ++got) {
        EXPECT_EQ(in[i].size, std::min<std::size_t>(got % text.size(), 16));
        EXPECT_EQ(in[i].is_truncated, got % text.size() > 16);
        EXPECT_EQ(in[i].from, a.local_endpoint());
      }
    }
    auto c = udp_socket::connect(a.local_endpoint().to_string());
    c.write_all("direct");
    EXPECT_EQ(a.recv_from(bytes, from), 6U);
    a.send_to("back", from);
    EXPECT_EQ(c.read_some(bytes), 4U);
    b.set_read_deadline(5ms);
    std::error_code error;
    b.recv_from(bytes, from, error);
    EXPECT_EQ(error, std::errc::timed_out);
  });
}

TEST_P(net_kinds, NE_unix_streams_packets_and_datagrams) {
  run([] {
    for (auto const type : {unix_type::stream, unix_type::seqpacket}) {
      auto const path = fresh_path("thrum_unix_");
      {
        auto listener = unix_listener::listen(path, type);
        auto conn = unix_conn::dial(path, type);
        auto peer = listener.accept();
        auto other = spawn([&] { test::answer_all(peer); });
        for (int i = 0; i < 10; ++i) test::ask(conn);
        if (type == unix_type::seqpacket) {
          conn.write_all("one");
          conn.write_all("three");
          std::array<char, 64> bytes{};
          EXPECT_EQ(conn.read_some(bytes), 3U);
          EXPECT_EQ(conn.read_some(bytes), 5U);
        }
        conn.close();
        other.join();
      }
      EXPECT_FALSE(std::filesystem::exists(path));
    }
    auto [a, b] = unix_conn::pair();
    a.write_all("x");
    char byte = 0;
    EXPECT_EQ(b.read_some({&byte, 1}), 1U);
    auto const name = "@thrum_" + std::to_string(::getpid());
    auto here = unix_datagram::bind(name);
    auto there = unix_datagram::connect(name);
    there.write_all("datagram");
    std::array<char, 16> bytes{};
    EXPECT_EQ(here.read_some(bytes), 8U);
  });
}

TEST_P(net_kinds, NE_files_parts_of_files_and_splices) {
  run([] {
    auto const path = fresh_path("thrum_file_");
    std::string text;
    for (int i = 0; text.size() < 300'000; ++i) text += std::to_string(i) + '\n';
    {
      auto out = file::open(path, open_for::write);
      EXPECT_EQ(out.write_all(text), text.size());
      out.sync();
    }
    auto in = file::open(path);
    EXPECT_EQ(in.size(), text.size());
    std::array<char, 10> bytes{};
    EXPECT_EQ(in.read_at(bytes, text.size() - 4), 4U);
    EXPECT_EQ(in.read_some(bytes), 10U);
    EXPECT_EQ(std::string_view(bytes.data(), 10), text.substr(0, 10));
    auto ab = test::socket_pair();
    fd& a = ab.a;
    fd& b = ab.b;
    auto cd = test::socket_pair();
    fd& c = cd.a;
    fd& d = cd.b;
    auto sender = spawn([&a, &in, size = text.size()] {
      EXPECT_EQ(a.send_file(in.native_handle(), 0, size + 100), size);
      a.close();
    });
    auto middle = spawn([&b, &c] {
      auto const moved = splice_all(b, c);
      c.close();
      return moved;
    });
    std::string got(text.size() + 1, '\0');
    EXPECT_EQ(test::read_to_end(d, got), text.size());
    got.pop_back();
    EXPECT_EQ(got, text);
    sender.join();
    EXPECT_EQ(middle.join(), text.size());
    EXPECT_THROW(static_cast<void>(file::open("/no/such/file")), std::system_error);
    EXPECT_THROW(fd(in.native_handle()), std::system_error) << "a file cannot be polled";
    {
      auto more = file::open(path, open_for::append);
      more.write_all("end");
      auto change = file::open(path, open_for::update);
      change.write_at("END", text.size());
    }
    EXPECT_EQ(in.read_at(bytes, text.size()), 3U);
    EXPECT_EQ(bytes[0], 'E');
    EXPECT_THROW(static_cast<void>(file::open(path, open_for::exclusive)), std::system_error);
    EXPECT_EQ(in.size(), text.size() + 3) << "one that is there is left alone";
    std::filesystem::remove(path);
    file::open(path, open_for::exclusive).write_all("new");
    EXPECT_EQ(file::open(path).size(), 3U);
    std::error_code error;
    EXPECT_FALSE(file::open(path, open_for::exclusive, 0666, error).is_open());
    EXPECT_EQ(error, std::errc::file_exists);
    std::filesystem::remove(path);
  });
}

std::uint64_t announced_calls() {
  std::uint64_t sum = 0;
  for (proc_stats const& p : read_stats().procs) sum += p.syscalls;
  return sum;
}

TEST_P(net_kinds, NE_sending_a_file_is_announced_since_the_disk_may_be_slow) {
  std::string const path = fresh_path("thrum_send_file_");
  run([&] {
    static_cast<void>(file::open(path, open_for::write).write_all(std::string_view("some bytes")));
    auto const in = file::open(path);
    auto sockets = test::socket_pair();
    std::uint64_t const before = announced_calls();
    EXPECT_EQ(sockets.a.send_file(in.native_handle(), 0, 10), 10U);
    EXPECT_GT(announced_calls(), before);
  });
  std::filesystem::remove(path);
}

TEST_P(net_kinds, NE_signals_are_told_to_all_subscribers_and_then_no_more) {
  if (rt::with_tsan) GTEST_SKIP() << "ThreadSanitizer keeps a signal back while its thread sleeps";
  run([] {
    auto all = signals(SIGUSR1, SIGUSR2);
    std::error_code error;
    auto one = signals({SIGUSR2}, error);
    EXPECT_FALSE(error);
    ASSERT_EQ(::kill(::getpid(), SIGUSR1), 0);
    EXPECT_EQ(all.recv(), SIGUSR1);
    ASSERT_EQ(::kill(::getpid(), SIGUSR2), 0);
    EXPECT_EQ(all.recv(), SIGUSR2);
    EXPECT_EQ(one.recv(), SIGUSR2);
    stop_signals(one);
    ASSERT_EQ(::kill(::getpid(), SIGUSR2), 0);
    EXPECT_EQ(all.recv(), SIGUSR2);
    EXPECT_FALSE(one.try_recv().value.has_value());
    stop_signals(all);
    for (int const number : {SIGKILL, SIGSEGV, SIGURG, 0, 65}) {
      EXPECT_THROW(static_cast<void>(signals(number)), std::system_error);
      error.clear();
      EXPECT_FALSE(signals({SIGUSR1, number}, error)) << "none of them";
      EXPECT_EQ(error, std::errc::invalid_argument);
    }
    error.clear();
    EXPECT_FALSE(signals({}, error));
    EXPECT_EQ(error, std::errc::invalid_argument);
  });
  struct sigaction now {};
  ASSERT_EQ(::sigaction(SIGUSR1, nullptr, &now), 0);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

TEST_P(net_kinds, NE_wait_readable_and_writable_leave_the_call_to_others) {
  run([] {
    auto ab = test::socket_pair();
    fd& a = ab.a;
    fd& b = ab.b;
    a.wait_writable();
    auto reader = spawn([&a] {
      a.wait_readable();
      char byte = 0;
      return ::recv(a.native_handle(), &byte, 1, 0);
    });
    EXPECT_TRUE(test::wait_until([] { return test::waiting_for(rt::wait_reason::io) == 1; }));
    b.write_all("xy");
    EXPECT_EQ(reader.join(), 1);
    a.wait_readable();  // there is more
  });
}

// With one P no other goroutine runs before the current one waits.
TEST(net_kinds_alone, T06_deadlines_and_close_never_switch) {
  test::in_run_order const undisturbed;
  test::run_at(1, [] {
    for (int round = 0; round < 2; ++round) {
      auto ab = test::socket_pair();
      bool has_ended = false;
      auto reader = spawn([&] {
        std::error_code error;
        char byte = 0;
        static_cast<void>(ab.a.read_some({&byte, 1}, error));
        has_ended = true;
      });
      EXPECT_TRUE(test::wait_until([] { return test::waiting_for(rt::wait_reason::io) == 1; }));
      if (round == 0) ab.a.set_read_deadline(clock::now() - 1s);
      ab.a.close();
      EXPECT_FALSE(has_ended);
      reader.join();
      EXPECT_TRUE(has_ended);
    }
  });
}

// The caller may hold a lock of its thread over the close of any descriptor. The kernel may wait in the close of a
// terminal.
TEST(net_kinds_alone, T06_close_of_a_terminal_stays_on_its_thread) {
  constexpr int rounds = 50;
  auto const open_terminal = [] { return ::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC); };
  int const first = open_terminal();
  if (first < 0) GTEST_SKIP() << "there are no terminals here";
  ::close(first);
  test::run_at(1, [&] {
    std::atomic<bool> is_over = false;
    auto other = spawn([&] {
      while (!is_over) yield();
    });
    for (int i = 0; i < rounds; ++i) {
      fd one(open_terminal());
      yield();
      auto const before = ::gettid();
      one.close();
      EXPECT_EQ(::gettid(), before);
    }
    is_over = true;
    other.join();
  });
}

TEST(net_kinds_outside, NE_without_a_runtime_what_need_not_wait_is_done_and_the_rest_is_an_error) {
  auto ab = test::socket_pair();
  fd& a = ab.a;
  fd& b = ab.b;
  b.write_all("x");
  char byte = 0;
  EXPECT_EQ(a.read_some({&byte, 1}), 1U);
  EXPECT_THROW(static_cast<void>(a.read_some({&byte, 1})), std::logic_error);
  EXPECT_EQ(fd().native_handle(), -1);
  std::error_code error;
  fd().read_some({&byte, 1}, error);
  EXPECT_EQ(error, std::errc::bad_file_descriptor);
}

THRUM_AT_EVERY_WIDTH(net_kinds);

}  // namespace
}  // namespace thrum
