// A dialler is never connected to itself.
#include "net/connect.h"
#include "net/open.h"
#include "os/socket.h"
#include "support/fatal.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "wait/poll_close.h"
#include "wait/poll_use.h"
#include <thrum/thrum.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum {
namespace {

// A socket that is about to be connected to its own address, by its own choice.
int self_connecting_socket(char const* address, endpoint& at) {
  endpoint const any = endpoint::parse(address);
  int const fd = rt::os::open_socket(any.family(), SOCK_STREAM, 0);
  EXPECT_EQ(rt::os::bind(fd, any.data(), any.size()), 0);
  std::uint32_t bytes = endpoint::capacity();
  EXPECT_EQ(rt::os::local_address(fd, at.data(), bytes), 0);
  at.resize(bytes);
  int const result = rt::os::connect(fd, at.data(), at.size());
  EXPECT_TRUE(result == 0 || result == -EINPROGRESS) << result;
  return fd;
}

class self_connect : public testing::TestWithParam<char const*> {};

TEST_P(self_connect, is_refused_and_leaves_the_port_free) {
  std::error_code has_family;
  test::run_at(2, [&] { static_cast<void>(tcp_listener::listen(GetParam(), {}, has_family)); });
  if (has_family) GTEST_SKIP() << "this machine has no " << GetParam() << ": " << has_family.message();
  test::run_at(2, [] {
    endpoint at;
    std::error_code error;
    rt::poll_desc* const d =
        rt::open_poll_desc(self_connecting_socket(GetParam(), at), rt::poll_kind::tcp_socket, error);
    ASSERT_NE(d, nullptr) << error.message();
    rt::end_connect(d, rt::never_poll, error);
    EXPECT_EQ(error, std::errc::connection_refused);
    rt::drop_poll_desc(*d);
    auto listener = tcp_listener::listen(at.to_string(), {.reuse_addr = false}, error);
    EXPECT_FALSE(error) << error.message();
  });
}

INSTANTIATE_TEST_SUITE_P(family, self_connect, testing::Values("127.0.0.1:0", "[::1]:0"),
                         [](auto const& of) { return std::string(of.param[0] == '[' ? "v6" : "v4"); });

// A port that the system gave to a client, and that is free again.
endpoint free_port_of_a_client() {
  auto listener = tcp_listener::listen("127.0.0.1:0");
  auto const client = tcp_conn::dial(listener.local_endpoint());
  auto const server = listener.accept();
  linger const reset{1, 0};
  EXPECT_EQ(::setsockopt(client.native_handle(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
  return client.local_endpoint();
}

// --- in a network of its own, in which the system has one port for clients ---

constexpr int port = 40'000;

bool clients_get_ports_from(int first, int last) {
  std::ofstream out("/proc/sys/net/ipv4/ip_local_port_range");
  out << first << ' ' << last << std::flush;
  return out.good();
}

bool enter_a_network_of_its_own() {
  if (::unshare(CLONE_NEWNET) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  ifreq loopback{};
  std::strcpy(loopback.ifr_name, "lo");
  loopback.ifr_flags = IFF_UP;
  int const any = ::socket(AF_INET, SOCK_DGRAM, 0);
  bool const is_up = ::ioctl(any, SIOCSIFFLAGS, &loopback) == 0;
  ::close(any);
  return is_up && clients_get_ports_from(port, port);
}

enum exit_code : int { as_expected, otherwise, not_possible_here };

// The system connects every dial to this port to itself, as long as no server listens there.
exit_code dial_the_only_port(char const* host) {
  if (!enter_a_network_of_its_own()) return not_possible_here;
  std::string const address = host + (":" + std::to_string(port));
  return static_cast<exit_code>(run([&] {
    std::error_code error;
    for (int i = 0; i < 3; ++i) {
      static_cast<void>(tcp_conn::dial(address, error));
      if (rt::is_want_of_family(error)) return as_expected;  // this machine has no IPv6
      EXPECT_EQ(error, std::errc::connection_refused) << error.message();
    }
    // The refused connections have left the port free, so a server can begin there.
    auto const listener = tcp_listener::listen(address, {.reuse_addr = false}, error);
    EXPECT_FALSE(error) << error.message();
    EXPECT_TRUE(clients_get_ports_from(port, port + 1));
    auto const conn = tcp_conn::dial(address, error);
    EXPECT_FALSE(error) << error.message();
    if (!error) {
      EXPECT_NE(conn.local_endpoint(), conn.remote_endpoint());
    }
    return testing::Test::HasFailure() ? otherwise : as_expected;
  }));
}

class self_connect_of_dial : public test::fatal_test {};

// "localhost" has addresses of both families, which are dialled by two goroutines.
TEST_F(self_connect_of_dial, is_refused_and_the_next_dial_reaches_a_server_that_listens_there_meanwhile) {
  for (char const* const host : {"127.0.0.1", "[::1]", "localhost"}) {
    int code = otherwise;
    auto const note_the_code = [&](int status) {
      return WIFEXITED(status) && (code = WEXITSTATUS(status)) != otherwise;
    };
    EXPECT_EXIT(::_exit(dial_the_only_port(host)), note_the_code, "") << host;
    if (code == not_possible_here) GTEST_SKIP() << "this system does not let the test have a network of its own";
  }
}

// The ports that the system gives to clients come round.
TEST(self_connect_by_chance, dialling_an_unused_port_again_and_again_never_succeeds) {
  test::run_at(2, [] {
    endpoint const at = free_port_of_a_client();
    for (std::int64_t i = 0; i < test::scaled(30'000, 1'000); ++i) {
      std::error_code error;
      auto const conn = tcp_conn::dial(at.to_string(), error);
      if (error) continue;  // another program may listen there meanwhile
      ASSERT_NE(conn.local_endpoint(), conn.remote_endpoint()) << "in round " << i;
    }
  });
}

}  // namespace
}  // namespace thrum
