// Many TLS connections at once.
#include "support/descriptors.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "tls/streams.h"

#include <atomic>
#include <string>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using test::open_sockets;
using test::scaled;

class many_tls_streams : public test::at_every_width {};
THRUM_AT_WIDTHS(many_tls_streams, 1, 2, 8);

TEST_P(many_tls_streams, TLS_two_hundred_connections_at_once_and_no_descriptor_is_lost) {
  int const before = open_sockets();
  run([] {
    auto listener = tcp_listener::listen("127.0.0.1:0");
    std::string const address = listener.local_endpoint().to_string();
    auto const connections = static_cast<int>(scaled(200, 40));
    auto const client = test::good_client();
    auto const server = test::good_server();
    wait_group all;
    std::atomic<int> served{0};
    all.go([&] {
      for (int i = 0; i < connections; ++i) {
        all.go([&, plain = listener.accept()]() mutable {
          auto conn = tls_stream::server(std::move(plain), server);
          served += !test::answer_all(conn);
        });
      }
    });
    latch all_are_open(connections);
    for (int i = 0; i < connections; ++i) {
      all.go([&, i] {
        auto conn = tls_stream::dial(address, client);
        all_are_open.arrive_and_wait();
        std::string const said = "this is " + std::to_string(i);
        std::string heard(said.size(), '\0');
        conn.write_all(said);
        EXPECT_EQ(conn.read_full(heard), said.size());
        EXPECT_EQ(heard, said);
        conn.close();
      });
    }
    all.wait();
    EXPECT_EQ(served, connections);
  });
  EXPECT_EQ(open_sockets(), before);
}

}  // namespace
}  // namespace thrum
