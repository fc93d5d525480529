// The program as a whole: arguments, signals, the load of redis-benchmark.
#include "base/platform.h"
#include "examples/kv/kv_test.h"
#include "support/scale.h"

#include <string>
#include <thread>
#include <vector>

namespace {

using thrum::test::outcome;
using thrum::test::resp_client;
using thrum::test::scaled;

// ThreadSanitizer puts a signal off until the thread that got it calls a function of the C library, and a thread that
// sleeps never does.
#define THRUM_SKIP_WITHOUT_SIGNALS() \
  if (thrum::rt::with_tsan) GTEST_SKIP() << "ThreadSanitizer keeps signals from outside"

// These wait for a time that has to pass.
class kv_patience : public thrum::test::kv_test {};
THRUM_AT_WIDTHS(kv_patience, 2);

// One that takes none of its replies gets a second.
TEST_P(kv_patience, it_ends_while_a_client_does_not_read) {
  auto slow = connect(4096);
  EXPECT_EQ(slow.ask("SET", "large", std::string(1'000'000, 'v')), "+OK");
  for (int i = 0; i < 20; ++i) slow.send("GET", "large");
  EXPECT_EQ(connect().ask("PING"), "+PONG");
  connect().send("SHUTDOWN");
  EXPECT_EQ(wait(), 0);
}

class kv_program : public thrum::test::kv_test {};
THRUM_KV_AT_EVERY_WIDTH(kv_program);

TEST(kv_arguments, a_wrong_one_is_answered_with_the_usage) {
  auto const program = thrum::test::example_kv();
  if (!std::filesystem::exists(program)) GTEST_SKIP() << program << " was not built";
  for (char const* const wrong :
       {"--port", "--port x", "--port 65536", "--port -1", "--procs 9999", "--colour blue", "7"}) {
    outcome const seen = thrum::test::run_program(program, {.arguments = wrong, .environment = ""});
    EXPECT_EQ(seen.code, 2) << wrong;
    EXPECT_EQ(seen.text.rfind("usage: ", 0), 0U) << seen.text;
  }
  outcome const seen = thrum::test::run_program(program, {.arguments = "--bind nowhere.invalid.", .environment = ""});
  EXPECT_EQ(seen.code, 1);
  EXPECT_NE(seen.text.find("cannot listen on nowhere.invalid.:6379"), std::string::npos) << seen.text;
}

TEST_P(kv_program, SIGTERM_ends_it_while_clients_are_there) {
  THRUM_SKIP_WITHOUT_SIGNALS();
  auto idle = connect();
  auto waiting = connect();
  auto subscriber = connect();
  auto half = connect();
  EXPECT_EQ(idle.ask("PING"), "+PONG");
  EXPECT_EQ(subscriber.ask("SUBSCRIBE", "c"), "['subscribe', 'c', :1]");
  waiting.send("BLPOP", "l", "0");
  EXPECT_TRUE(comes_to_say(idle, "blocked_clients:1"));
  half.send_raw("*2\r\n$3\r\nGE");
  signal(SIGTERM);
  EXPECT_EQ(wait(), 0);
  EXPECT_EQ(idle.reply(), "end");
  EXPECT_EQ(waiting.reply(), "end");
  EXPECT_EQ(subscriber.reply(), "end");
}

TEST_P(kv_program, SIGINT_ends_it_under_load) {
  THRUM_SKIP_WITHOUT_SIGNALS();
  std::vector<std::thread> clients;
  std::atomic<int> busy{0};
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&, c = connect()]() mutable {
      while (c.ask("INCR", "n")[0] == ':') ++busy;
    });
  }
  while (busy < 100) std::this_thread::yield();
  signal(SIGINT);
  EXPECT_EQ(wait(), 0);
  for (auto& client : clients) client.join();
}

TEST_P(kv_program, clients_come_and_go) {
  for (int i = 0; i < scaled(300, 30); ++i) {
    auto c = connect();
    if (i % 3 == 0) {
      EXPECT_EQ(c.ask("PING"), "+PONG");
    }
    if (i % 3 == 1) c.send_raw("*3\r\n$3\r\nSET\r\n$1\r\n");
  }
  auto c = connect();
  EXPECT_TRUE(comes_to_say(c, "connected_clients:1"));
}

TEST_P(kv_program, redis_benchmark_runs_to_its_end) {
  if (!thrum::test::is_installed("redis-benchmark"))
    GTEST_SKIP() << "redis-benchmark is not installed (Debian: redis-tools)";
  outcome const seen =
      thrum::test::run_program("/usr/bin/env", {.arguments = "redis-benchmark -q -p " + std::to_string(port()) +
                                                             " -n " + std::to_string(scaled(20'000, 1'000)) +
                                                             " -P 16 -t ping,set,get,incr,lpush,rpush,lpop,rpop,mset",
                                                .environment = ""});
  EXPECT_EQ(seen.code, 0);
  EXPECT_EQ(seen.text.find("rror"), std::string::npos) << seen.text;
  EXPECT_NE(seen.text.find("MSET (10 keys): "), std::string::npos) << seen.text;
}

}  // namespace
