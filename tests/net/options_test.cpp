// What the options of sockets do, as the system sees it, and the calls that few use.
#include "support/run_at.h"
#include "support/sockets.h"
#include "support/tries.h"
#include <thrum/thrum.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;

class net_options : public test::at_every_width {};

template <class Socket>
int option(Socket const& of, int level, int name) {
  int value = -1;
  socklen_t bytes = sizeof value;
  EXPECT_EQ(::getsockopt(of.native_handle(), level, name, &value, &bytes), 0);
  return value;
}

TEST(endpoint_kinds, NE_an_endpoint_knows_its_family_and_its_port_can_be_changed) {
  auto v4 = endpoint::parse("127.0.0.1:80");
  auto v6 = endpoint::parse("[::1]:80");
  auto local = endpoint::unix_path("@name");
  EXPECT_TRUE(v4.is_v4() && !v4.is_v6() && !v4.is_unix());
  EXPECT_TRUE(!v6.is_v4() && v6.is_v6() && !v6.is_unix());
  EXPECT_TRUE(!local.is_v4() && !local.is_v6() && local.is_unix());
  EXPECT_TRUE(v6.is_loopback());
  v4.set_port(65535);
  v6.set_port(1);
  local.set_port(7);
  EXPECT_EQ(v4, endpoint::parse("127.0.0.1:65535"));
  EXPECT_EQ(v6, endpoint::parse("[::1]:1"));
  EXPECT_EQ(local, endpoint::unix_path("@name"));
  EXPECT_EQ(local.port(), 0);
}

TEST_P(net_options, NE_no_delay_is_on_by_default_on_both_sides) {
  run([] {
    auto listener = tcp_listener::listen("127.0.0.1:0");
    auto conn = tcp_conn::dial(listener.local_endpoint());
    auto peer = listener.accept();
    for (tcp_conn* const one : {&conn, &peer}) {
      EXPECT_EQ(option(*one, IPPROTO_TCP, TCP_NODELAY), 1);
      one->set_no_delay(false);
      EXPECT_EQ(option(*one, IPPROTO_TCP, TCP_NODELAY), 0);
      one->set_no_delay(true);
      EXPECT_EQ(option(*one, IPPROTO_TCP, TCP_NODELAY), 1);
    }
  });
}

TEST_P(net_options, NE_keep_alive_has_its_time_and_can_be_ended) {
  run([] {
    auto listener = tcp_listener::listen("127.0.0.1:0");
    auto conn = tcp_conn::dial(listener.local_endpoint());
    conn.set_keep_alive(30s);
    EXPECT_EQ(option(conn, SOL_SOCKET, SO_KEEPALIVE), 1);
    EXPECT_EQ(option(conn, IPPROTO_TCP, TCP_KEEPIDLE), 30);
    EXPECT_EQ(option(conn, IPPROTO_TCP, TCP_KEEPINTVL), 30);
    conn.set_keep_alive(0s);
    EXPECT_EQ(option(conn, SOL_SOCKET, SO_KEEPALIVE), 0);
  });
}

TEST_P(net_options, NE_buffers_have_the_size_that_was_asked_for) {
  run([] {
    auto listener = tcp_listener::listen("127.0.0.1:0");
    auto conn = tcp_conn::dial(listener.local_endpoint());
    for (int const bytes : {16 << 10, 32 << 10}) {
      conn.set_read_buffer(bytes);
      conn.set_write_buffer(bytes);
      EXPECT_EQ(option(conn, SOL_SOCKET, SO_RCVBUF), 2 * bytes);  // twice, for the kernel's own use: socket(7)
      EXPECT_EQ(option(conn, SOL_SOCKET, SO_SNDBUF), 2 * bytes);
    }
  });
}

TEST_P(net_options, NE_listeners_may_share_addresses_and_ports_if_asked_to) {
  run([] {
    auto usual = tcp_listener::listen("127.0.0.1:0");
    EXPECT_EQ(option(usual, SOL_SOCKET, SO_REUSEADDR), 1);
    EXPECT_EQ(option(usual, SOL_SOCKET, SO_REUSEPORT), 0);
    EXPECT_EQ(option(tcp_listener::listen("127.0.0.1:0", {.reuse_addr = false}), SOL_SOCKET, SO_REUSEADDR), 0);
    std::error_code error;
    EXPECT_FALSE(tcp_listener::listen(usual.local_endpoint().to_string(), {}, error).is_open());
    EXPECT_EQ(error, std::errc::address_in_use);
    auto first = tcp_listener::listen("127.0.0.1:0", {.reuse_port = true});
    auto const at = first.local_endpoint().to_string();
    auto second = tcp_listener::listen(at, {.reuse_port = true});
    EXPECT_EQ(option(second, SOL_SOCKET, SO_REUSEPORT), 1);
    EXPECT_FALSE(tcp_listener::listen(at, {}, error).is_open()) << "a listener that did not ask has no part in it";
    EXPECT_EQ(error, std::errc::address_in_use);
  });
}

// A socket that is not thrum's, bound to the port at all IPv6 addresses and at no IPv4 address. nullopt if the machine
// has no IPv6.
std::optional<int> socket_of_v6_alone(int type, std::uint16_t& port) {
  int const made = ::socket(AF_INET6, type | SOCK_CLOEXEC, 0);
  if (made < 0) return std::nullopt;
  int const on = 1;
  static_cast<void>(::setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on));
  sockaddr_in6 at{};
  at.sin6_family = AF_INET6;
  socklen_t bytes = sizeof at;
  bool const is_bound = ::bind(made, reinterpret_cast<sockaddr const*>(&at), bytes) == 0 &&
                        (type != SOCK_STREAM || ::listen(made, 1) == 0) &&
                        ::getsockname(made, reinterpret_cast<sockaddr*>(&at), &bytes) == 0;
  port = ntohs(at.sin6_port);
  if (is_bound) return made;
  ::close(made);
  return std::nullopt;
}

TEST_P(net_options, NE_a_port_that_is_taken_in_one_family_is_not_listened_to_in_the_other_alone) {
  run([] {
    std::uint16_t port = 0;
    std::error_code error;
    auto const stream = socket_of_v6_alone(SOCK_STREAM, port);
    if (!stream) GTEST_SKIP() << "no IPv6";
    EXPECT_FALSE(tcp_listener::listen(":" + std::to_string(port), {}, error).is_open());
    EXPECT_EQ(error, std::errc::address_in_use);
    ::close(*stream);
    auto const datagram = socket_of_v6_alone(SOCK_DGRAM, port);
    ASSERT_TRUE(datagram);
    EXPECT_FALSE(udp_socket::bind(":" + std::to_string(port), error).is_open());
    EXPECT_EQ(error, std::errc::address_in_use);
    ::close(*datagram);
  });
}

// The kernel lets a path fill its place, without a zero behind it.
TEST_P(net_options, NE_the_longest_path_of_a_unix_socket_is_told_whole) {
  run([] {
    auto const name = "@thrum_longest_" + std::to_string(::getpid());
    auto to = unix_datagram::bind(name);
    sockaddr_un longest{};
    longest.sun_family = AF_UNIX;
    std::string path = "/tmp/thrum_longest_" + std::to_string(::getpid());
    path.resize(sizeof longest.sun_path, 'x');
    std::memcpy(longest.sun_path, path.data(), path.size());
    int const from = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::bind(from, reinterpret_cast<sockaddr const*>(&longest), sizeof longest), 0);
    endpoint const there = endpoint::unix_path(name);
    ASSERT_EQ(::sendto(from, "x", 1, 0, static_cast<sockaddr const*>(there.data()), there.size()), 1);
    char byte = 0;
    endpoint seen;
    EXPECT_EQ(to.recv_from({&byte, 1}, seen), 1U);
    EXPECT_EQ(seen.host(), path);
    ::close(from);
    std::filesystem::remove(path);
  });
}

TEST_P(net_options, NE_datagrams_of_unix_sockets_go_to_their_addressee) {
  run([] {
    auto const name = "@thrum_options_" + std::to_string(::getpid());
    auto a = unix_datagram::bind(name + "a");
    auto b = unix_datagram::bind(name + "b");
    auto c = unix_datagram::bind(name + "c");
    EXPECT_EQ(a.send_to("for b", endpoint::unix_path(name + "b")), 5U);
    EXPECT_EQ(a.send_to("c's", endpoint::unix_path(name + "c")), 3U);
    std::array<char, 16> bytes{};
    endpoint from;
    EXPECT_EQ(b.recv_from(bytes, from), 5U);
    EXPECT_EQ(std::string_view(bytes.data(), 5), "for b");
    EXPECT_EQ(from, a.local_endpoint());
    EXPECT_EQ(c.recv_from(bytes, from), 3U);
    std::error_code error;
    EXPECT_EQ(a.send_to("x", endpoint::unix_path(name + "d"), error), 0U);
    EXPECT_EQ(error, std::errc::connection_refused);
  });
}

// The kernel calls such a sender writable all the time.
TEST_P(net_options, NE_a_goroutine_that_waits_for_room_at_a_unix_socket_uses_no_cpu_and_goes_on) {
  run([] {
    auto const name = "@thrum_room_" + std::to_string(::getpid());
    auto full = unix_datagram::bind(name);
    auto sender = unix_datagram::bind(name + "s");
    endpoint const to = endpoint::unix_path(name);
    std::error_code error;
    int sent = 0;
    auto const fill = [&] {
      sender.set_write_deadline(100ms);
      for (error.clear(); !error;) sent += sender.send_to("x", to, error) != 0 ? 1 : 0;
      EXPECT_EQ(error, std::errc::timed_out);
    };
    fill();
    auto const share_of_a_cpu = [&] {
      std::clock_t const cpu_before = std::clock();
      auto const before = std::chrono::steady_clock::now();
      fill();
      std::chrono::duration<double> const took = std::chrono::steady_clock::now() - before;
      return static_cast<double>(std::clock() - cpu_before) / CLOCKS_PER_SEC / took.count();
    };
    EXPECT_LT(test::in_one_of(5, share_of_a_cpu, [](double share) { return share < 0.5; }), 0.5);
    sender.set_write_deadline(sender.no_deadline);
    auto waits = spawn([&] { return sender.send_to("last", to); });
    std::array<char, 16> bytes{};
    endpoint from;
    for (int i = 0; i < sent; ++i) EXPECT_EQ(full.recv_from(bytes, from), 1U);
    EXPECT_EQ(full.recv_from(bytes, from), 4U);
    EXPECT_EQ(waits.join(), 4U);
  });
}

TEST_P(net_options, NE_parts_are_written_as_far_as_there_is_room) {
  run([] {
    auto ab = test::socket_pair();
    std::array<const_buffer, 3> const small{"one ", const_buffer(), "two"};
    EXPECT_EQ(ab.a.write_some(small), 7U);
    std::array<char, 7> bytes{};
    EXPECT_EQ(ab.b.read_full(bytes), 7U);
    EXPECT_EQ(std::string_view(bytes.data(), bytes.size()), "one two");
    std::string const big(8 << 20, 'x');
    std::array<const_buffer, 2> const large{"head", big};
    std::size_t const written = ab.a.write_some(large);
    EXPECT_GT(written, 4U);
    EXPECT_LT(written, big.size());
    ab.a.close();
    std::string got(written + 1, '\0');
    EXPECT_EQ(test::read_to_end(ab.b, got), written);
    EXPECT_EQ(got.substr(0, written), ("head" + big).substr(0, written));
  });
}

THRUM_AT_EVERY_WIDTH(net_options);

}  // namespace
}  // namespace thrum
