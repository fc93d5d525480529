// cpp-httplib's client holds a recursive mutex over a request. With thrum::posix_locks goroutines may share one.
#include "posix/httplib/web.h"
#include "support/run_at.h"
#include "support/scale.h"
#include <thrum/thrum.h>

#include <atomic>
#include <string>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

class posix_shared_client : public at_every_width {};
THRUM_AT_WIDTHS(posix_shared_client, 1, 2, 8);

TEST_P(posix_shared_client, T08_goroutines_share_a_client) {
  run([] {
    web server([] { return new goroutine_queue; });
    wait_group serving;
    serving.go([&] { server.serve(); });
    // On a connection that is kept each takes 40 ms, also for threads: the server sends in two parts.
    std::int64_t const each = scaled(5, 2);
    for (bool const keeps_alive : {false, true}) {
      httplib::Client client("127.0.0.1", server.port());
      client.set_keep_alive(keeps_alive);
      client.set_connection_timeout(patience_s);
      be_patient(client);
      std::atomic<std::int64_t> answered{0};
      wait_group all;
      for (int i = 0; i < 10; ++i) {
        all.go([&, i] {
          for (std::int64_t n = 0; n < each; ++n) {
            auto const got = client.Get("/number/" + std::to_string(i));
            ASSERT_TRUE(got) << httplib::to_string(got.error());
            EXPECT_EQ(got->body, "number " + std::to_string(i));
            ++answered;
          }
        });
      }
      // Other goroutines run while these wait for their turn.
      auto const slow = client.Get("/slow");
      EXPECT_TRUE(slow && slow->body == "slow");
      all.wait();
      EXPECT_EQ(answered, 10 * each);
    }
    server.stop();
    serving.wait();
  });
}

}  // namespace
}  // namespace thrum::test
