// A dialler is never connected to itself.
#include "net/connect.h"
#include "net/open.h"
#include "os/socket.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "wait/poll_use.h"
#include <thrum/thrum.h>

#include <cstdint>
#include <string>

#include <gtest/gtest.h>
#include <netinet/in.h>

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
