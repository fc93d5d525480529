// What the options of sockets do, as the system sees it, and the calls that few use.
#include "support/run_at.h"
#include "support/sockets.h"
#include <thrum/thrum.h>

#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <system_error>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
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

TEST_P(net_options, NE_who_listens_may_share_addresses_and_ports_if_asked_to) {
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
    EXPECT_FALSE(tcp_listener::listen(at, {}, error).is_open()) << "who did not ask has no part in it";
    EXPECT_EQ(error, std::errc::address_in_use);
  });
}

TEST_P(net_options, NE_datagrams_of_unix_sockets_go_to_whom_they_are_sent) {
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
    EXPECT_EQ(ab.b.read_full(got), written);
    EXPECT_EQ(got.substr(0, written), ("head" + big).substr(0, written));
  });
}

THRUM_AT_EVERY_WIDTH(net_options);

}  // namespace
}  // namespace thrum
