// Connections whose peer is gone without a word end; closing one that lingers keeps no processor.
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <array>
#include <atomic>
#include <chrono>
#include <string>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;

class keep_alive : public test::at_every_width {};

int option(basic_socket const& conn, int level, int name) {
  int value = -1;
  socklen_t bytes = sizeof value;
  EXPECT_EQ(::getsockopt(conn.native_handle(), level, name, &value, &bytes), 0);
  return value;
}

void expect_gos_values(basic_socket const& conn, char const* which) {
  EXPECT_EQ(option(conn, SOL_SOCKET, SO_KEEPALIVE), 1) << which;
  EXPECT_EQ(option(conn, IPPROTO_TCP, TCP_KEEPIDLE), 15) << which;
  EXPECT_EQ(option(conn, IPPROTO_TCP, TCP_KEEPINTVL), 15) << which;
  EXPECT_EQ(option(conn, IPPROTO_TCP, TCP_KEEPCNT), 9) << which;
}

TEST_P(keep_alive, is_on_for_dialled_and_accepted_connections_and_can_be_turned_off) {
  run([] {
    auto listener = tcp_listener::listen("127.0.0.1:0");
    auto const by_endpoint = tcp_conn::dial(listener.local_endpoint());
    expect_gos_values(by_endpoint, "dialled by endpoint");
    auto by_name = tcp_conn::dial(listener.local_endpoint().to_string());
    expect_gos_values(by_name, "dialled by address");
    expect_gos_values(listener.accept(), "accepted");
    by_name.set_keep_alive(0s);
    EXPECT_EQ(option(by_name, SOL_SOCKET, SO_KEEPALIVE), 0);
    by_name.set_keep_alive(60s);
    EXPECT_EQ(option(by_name, IPPROTO_TCP, TCP_KEEPIDLE), 60);
  });
}

THRUM_AT_WIDTHS(keep_alive, 1, 2);

std::uint64_t closes_unannounced() {
  std::uint64_t count = 0;
  for (auto const& site : read_stats().unannounced_calls) count += site.system_call == SYS_close ? site.count : 0;
  return count;
}

// The kernel waits in close until the peer has received everything, or the time is over. The call is announced, so
// sysmon need not find out that the thread sleeps.
TEST(lingering_close, is_announced_as_a_blocking_call) {
  test::run_at(1, [] {
    auto listener = tcp_listener::listen("127.0.0.1:0");
    auto client = tcp_conn::dial(listener.local_endpoint());
    auto const server = listener.accept();
    std::error_code error;
    client.set_write_deadline(100ms);
    std::string const much(1 << 20, 'x');
    while (!error) client.write_some(much, error);  // until neither side has room
    EXPECT_EQ(error, std::errc::timed_out);
    linger const patience{1, 1};
    ASSERT_EQ(::setsockopt(client.native_handle(), SOL_SOCKET, SO_LINGER, &patience, sizeof patience), 0);
    std::uint64_t const unannounced = closes_unannounced();
    std::atomic<bool> is_closed{false};
    std::atomic<int> turns{0};
    wait_group others;
    others.go([&] {
      while (!is_closed) {
        ++turns;
        yield();
      }
    });
    auto const begin = clock::now();
    client.close();
    auto const took = clock::now() - begin;
    is_closed = true;
    others.wait();
    if (took < 500ms) GTEST_SKIP() << "this kernel does not linger";
    EXPECT_GT(turns, 100);

    EXPECT_EQ(closes_unannounced(), unannounced);
  });
}

}  // namespace
}  // namespace thrum
