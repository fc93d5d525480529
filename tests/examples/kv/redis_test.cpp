// The same commands, at random, to example_kv and to a real redis-server: the same replies.
#include "examples/kv/kv_test.h"
#include "support/scale.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace {

using thrum::test::resp_client;
using thrum::test::scaled;
using thrum::test::server_process;
using words = std::vector<std::string>;

class kv_beside_redis : public thrum::test::kv_test {
 protected:
  void SetUp() override {
    if (!thrum::test::is_installed("redis-server"))
      GTEST_SKIP() << "redis-server is not installed (Debian: redis-server)";
    kv_test::SetUp();
    if (IsSkipped()) return;
    socket_ = std::filesystem::path(testing::TempDir()) / ("thrum_redis_" + std::to_string(::getpid()) + ".sock");
    redis_.emplace("/usr/bin/redis-server", words{"--port", "0", "--unixsocket", socket_, "--databases", "1", "--hz",
                                                  "500", "--save", "", "--appendonly", "no"});
  }
  void TearDown() override {
    kv_test::TearDown();
    redis_.reset();
    if (!socket_.empty()) std::filesystem::remove(socket_);
  }
  [[nodiscard]] resp_client connect_to_redis() const {
    auto const until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    for (;;) {
      resp_client one(socket_.string());
      if (one.is_connected() || std::chrono::steady_clock::now() > until) return one;
    }
  }

 private:
  std::filesystem::path socket_;
  std::optional<server_process> redis_;
};
THRUM_AT_WIDTHS(kv_beside_redis, 2);

class random_commands {
 public:
  explicit random_commands(unsigned seed) : random_(seed) {}

  words next() {
    static std::vector<words> const shapes{
        {"GET", "K"},
        {"SET", "K", "V"},
        {"SET", "K", "V", "O"},
        {"SET", "K", "V", "O", "O"},
        {"SET", "K", "V", "EX", "T"},
        {"SET", "K", "V", "PX", "T", "O"},
        {"SETNX", "K", "V"},
        {"SETEX", "K", "T", "V"},
        {"GETSET", "K", "V"},
        {"GETDEL", "K"},
        {"APPEND", "K", "V"},
        {"STRLEN", "K"},
        {"INCR", "K"},
        {"DECR", "K"},
        {"INCRBY", "K", "N"},
        {"DECRBY", "K", "N"},
        {"MGET", "K", "K", "K"},
        {"MSET", "K", "V", "K", "V"},
        {"MSET", "K", "V", "K"},
        {"EXISTS", "K", "K"},
        {"DEL", "K"},
        {"DEL", "K", "K"},
        {"TYPE", "K"},
        {"KEYS", "G"},
        {"DBSIZE"},
        {"LPUSH", "K", "V"},
        {"RPUSH", "K", "V", "V"},
        {"LPOP", "K"},
        {"RPOP", "K"},
        {"LPOP", "K", "N"},
        {"RPOP", "K", "N"},
        {"LLEN", "K"},
        {"LRANGE", "K", "N", "N"},
        {"LINDEX", "K", "N"},
        {"BLPOP", "K", "K", "0.001"},
        {"BRPOP", "K", "F"},
        {"EXPIRE", "K", "T"},
        {"EXPIRE", "K", "T", "O"},
        {"PEXPIRE", "K", "T"},
        {"TTL", "K"},
        {"PTTL", "K"},
        {"PERSIST", "K"},
        {"PING"},
        {"PING", "V"},
        {"ECHO", "V"},
        {"SELECT", "N"},
        {"GET"},
        {"lpush", "K"},
        {"NoSuch", "V", "V"},
        {"PUBLISH", "K", "V"},
        {"FLUSHALL"},
        {"HELLO", "9"},
        {"CONFIG", "GET", "save"},
    };
    words command = pick(shapes);
    for (std::size_t i = 1; i < command.size(); ++i) fill(command[i]);
    if (command[0] == "FLUSHALL" && random_() % 8 != 0) return next();
    return command;
  }

 private:
  template <class T>
  T const& pick(std::vector<T> const& from) {
    return from[random_() % from.size()];
  }
  void fill(std::string& word) {
    static words const keys{"a", "b", "list", "hello", "hallo", ""};
    static words const values{"1", "-5", "text", "", "two words", "9223372036854775807", "05", " 1", "line\r\nbreak"};
    static words const numbers{"0",  "1", "-1", "2", "-2", "100000", "x", "-9223372036854775808", "9223372036854775807",
                               "1.5"};
    static words const options{"NX", "xx", "GET", "KEEPTTL", "GT", "LT", "EX", "bad"};
    static words const patterns{"*", "h?llo", "h[a-d]llo", "h[^a]llo", "[", "\\a", "*l*", "?", "h[b-", "l*t*"};
    static words const timeouts{"0.001", "-1", "x", "1x"};
    static words const times{
        "0", "-1", "later", "x", "-9223372036854775808", "9223372036854775807", "9223372036854775"};
    if (word == "K") word = pick(keys);
    if (word == "V") word = pick(values);
    if (word == "N") word = pick(numbers);
    if (word == "O") word = pick(options);
    if (word == "G") word = pick(patterns);
    if (word == "F") word = pick(timeouts);
    if (word == "T") word = pick(times);
    if (word == "later") word = std::to_string(later());
  }
  // Long after the test, and no two closer than the test is long: by GT and LT the servers compare when keys end, and
  // each has its own clock.
  std::int64_t later() {
    ++laters_;
    return 100'000'000'000 + (laters_ % 2 == 0 ? 1'000'000 : -1'000'000) * laters_;
  }

  std::mt19937 random_;
  std::int64_t laters_ = 0;
};

// What may differ is taken out: how much time is left to the millisecond, and the order of keys.
std::string comparable(words const& command, std::string reply) {
  if ((command[0] == "TTL" || command[0] == "PTTL") && reply[0] == ':' && reply[1] != '-') return ":some time";
  if (command[0] == "KEYS") std::sort(reply.begin(), reply.end());
  return reply;
}

TEST_P(kv_beside_redis, random_commands_have_the_same_replies) {
  auto ours = connect();
  auto theirs = connect_to_redis();
  ASSERT_TRUE(theirs.is_connected());
  unsigned const seed = std::random_device()();
  random_commands all(seed);
  std::string last;
  for (std::int64_t i = 0; i < scaled(5'000, 500) && !HasFailure(); ++i) {
    words const command = all.next();
    std::string const sent = resp_client::encoded(command);
    ours.send_raw(sent);
    theirs.send_raw(sent);
    EXPECT_EQ(comparable(command, ours.reply()), comparable(command, theirs.reply()))
        << "seed " << seed << ", command " << i << ":\n"
        << sent << "after\n"
        << last;
    last = sent;
  }
}

TEST_P(kv_beside_redis, broken_requests_have_the_same_replies) {
  for (char const* const sent :
       {"*x\r\n", "*1\r\n:3\r\n", "*1\r\n$-1\r\n", "*1\r\n$+3\r\nGET\r\n", "*1\r\n\r\n", "SET 'a\r\n",
        "*1\r\n$ 3\r\nGET\r\n", "*-5\r\nPING\r\n", "\r\n\r\nPING\r\n", "*2\r\n$4\r\nECHO\r\n$1\r\nxyzPING\r\n",
        "SET \"\\x4\" \"\\q\"\r\nGET x4\r\nGET \\x4\r\n"}) {
    auto ours = connect();
    auto theirs = connect_to_redis();
    for (resp_client* const each : {&ours, &theirs}) {
      each->send_raw(sent);
      each->shut_down_write();
    }
    std::string reply;
    do {
      reply = theirs.reply();
      EXPECT_EQ(ours.reply(), reply) << sent;
    } while (reply != "end" && reply != "timeout");
  }
}

}  // namespace
