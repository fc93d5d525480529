// Several clients at once: what they do to the same keys.
#include "examples/kv/kv_test.h"
#include "support/scale.h"

#include <string>
#include <thread>
#include <vector>

namespace {

using thrum::test::resp_client;
using thrum::test::scaled;

class kv_sharing : public thrum::test::kv_test {};
THRUM_KV_AT_EVERY_WIDTH(kv_sharing);

TEST_P(kv_sharing, no_increment_is_lost) {
  constexpr int clients = 16;
  int const each = static_cast<int>(scaled(500, 50));
  std::vector<std::thread> threads;
  for (int i = 0; i < clients; ++i) {
    threads.emplace_back([&] {
      auto c = connect();
      std::string pipeline;
      for (int n = 0; n < each; ++n) pipeline += resp_client::encoded({"INCR", "sum"});
      c.send_raw(pipeline);
      for (int n = 0; n < each; ++n) EXPECT_EQ(c.reply()[0], ':');
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(connect().ask("GET", "sum"), "'" + std::to_string(clients * each) + "'");
}

// MSET is seen whole or not at all.
TEST_P(kv_sharing, commands_on_several_keys_are_one_step) {
  auto writer = connect();
  auto reader = connect();
  EXPECT_EQ(writer.ask("MSET", "a", "0", "b", "0", "c", "0"), "+OK");
  int const rounds = static_cast<int>(scaled(1'000, 100));
  std::thread writing([&] {
    for (int i = 1; i <= rounds; ++i) {
      std::string const v = std::to_string(i);
      EXPECT_EQ(writer.ask("MSET", "c", v, "a", v, "b", v), "+OK");
    }
  });
  for (int i = 0; i < rounds; ++i) {
    std::string const seen = reader.ask("MGET", "a", "b", "c");
    std::string const one = seen.substr(1, seen.find(',') - 1);
    EXPECT_EQ(seen, "[" + one + ", " + one + ", " + one + "]");
  }
  writing.join();
}

}  // namespace
