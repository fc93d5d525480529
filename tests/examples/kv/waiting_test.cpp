// Clients that wait for lists, and keys that go when their time is over.
#include "examples/kv/kv_test.h"

#include <string>
#include <vector>

namespace {

using thrum::test::resp_client;

class kv_waiting : public thrum::test::kv_test {
 protected:
  // A client that waits: it is known to the server when this returns.
  template <class... Words>
  resp_client waiting(Words const&... words) {
    auto c = connect();
    c.send(words...);
    expect_waiting(++waiting_);
    return c;
  }
  void expect_waiting(int count) {
    waiting_ = count;
    auto asker = connect();
    EXPECT_TRUE(comes_to_say(asker, "blocked_clients:" + std::to_string(count)));
  }

 private:
  int waiting_ = 0;
};
THRUM_KV_AT_EVERY_WIDTH(kv_waiting);

TEST_P(kv_waiting, waiting_clients_are_served_in_order_of_arrival) {
  std::vector<resp_client> clients;
  for (int i = 0; i < 5; ++i) clients.push_back(waiting("BLPOP", "queue", "0"));
  EXPECT_EQ(connect().ask("RPUSH", "queue", "0", "1", "2"), ":3");
  EXPECT_EQ(connect().ask("RPUSH", "queue", "3", "4", "5"), ":3");
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(clients[static_cast<std::size_t>(i)].reply(), "['queue', '" + std::to_string(i) + "']");
  EXPECT_EQ(connect().ask("LRANGE", "queue", "0", "-1"), "['5']");
  expect_waiting(0);
}

TEST_P(kv_waiting, one_may_wait_for_several_lists_and_at_either_end) {
  auto right = waiting("BRPOP", "a", "b", "a", "0");
  auto left = waiting("BLPOP", "b", "c", "0");
  auto c = connect();
  EXPECT_EQ(c.ask("RPUSH", "b", "1", "2", "3"), ":3");
  EXPECT_EQ(right.reply(), "['b', '3']");
  EXPECT_EQ(left.reply(), "['b', '1']");
  EXPECT_EQ(c.ask("RPUSH", "a", "4"), ":1");  // no client waits there
  EXPECT_EQ(c.ask("LLEN", "a"), ":1");
}

TEST_P(kv_waiting, a_time_that_is_over_is_answered_with_nil) {
  auto c = connect();
  EXPECT_EQ(c.ask("BLPOP", "none", "0.01"), "nil");
  EXPECT_EQ(c.ask("RPUSH", "none", "x"), ":1");
  EXPECT_EQ(c.ask("BLPOP", "none", "0.01"), "['none', 'x']");
}

TEST_P(kv_waiting, what_was_sent_behind_it_is_answered_after_it) {
  auto c = connect();
  c.send_raw("ECHO before\r\nBLPOP l 0\r\nECHO after\r\n");
  EXPECT_EQ(c.reply(), "'before'");
  expect_waiting(1);
  c.send_raw("ECHO last\r\n");
  EXPECT_EQ(connect().ask("LPUSH", "l", "x"), ":1");
  EXPECT_EQ(c.reply(), "['l', 'x']");
  EXPECT_EQ(c.reply(), "'after'");
  EXPECT_EQ(c.reply(), "'last'");
}

TEST_P(kv_waiting, a_client_that_went_away_is_given_nothing) {
  {
    auto leaving = waiting("BLPOP", "l", "0");
    auto staying = waiting("BLPOP", "l", "0");
    leaving.close();
    expect_waiting(1);
    EXPECT_EQ(connect().ask("RPUSH", "l", "x"), ":1");
    EXPECT_EQ(staying.reply(), "['l', 'x']");
  }
  EXPECT_EQ(connect().ask("RPUSH", "l", "y"), ":1");
  EXPECT_EQ(connect().ask("LLEN", "l"), ":1");
}

TEST_P(kv_waiting, a_string_in_the_place_of_the_list_is_no_element) {
  auto c = waiting("BLPOP", "l", "0");
  auto other = connect();
  EXPECT_EQ(other.ask("SET", "l", "x"), "+OK");
  EXPECT_EQ(other.ask("DEL", "l"), ":1");
  EXPECT_EQ(other.ask("LPUSH", "l", "y"), ":1");
  EXPECT_EQ(c.reply(), "['l', 'y']");
}

TEST_P(kv_waiting, keys_go_when_their_time_is_over) {
  auto c = connect();
  EXPECT_EQ(c.ask("SET", "soon", "x", "PX", "20"), "+OK");
  EXPECT_EQ(c.ask("SET", "late", "x", "EX", "10000"), "+OK");
  while (c.ask("GET", "soon") == "'x'") {
  }
  EXPECT_EQ(c.ask("EXISTS", "soon"), ":0");
  EXPECT_EQ(c.ask("TTL", "soon"), ":-2");
  EXPECT_EQ(c.ask("INCR", "soon"), ":1");
  EXPECT_EQ(c.ask("TTL", "soon"), ":-1");
  EXPECT_EQ(c.ask("GET", "late"), "'x'");
}

// DBSIZE counts what is there, over or not: only the goroutine that looks for old keys makes it fall.
TEST_P(kv_waiting, keys_go_although_no_client_asks_for_them) {
  auto c = connect();
  constexpr int keys = 2'000;
  std::string pipeline;
  for (int i = 0; i < keys; ++i) pipeline += resp_client::encoded({"SET", "k" + std::to_string(i), "x", "PX", "20"});
  pipeline += resp_client::encoded({"SET", "stays", "x"});
  c.send_raw(pipeline);
  for (int i = 0; i < keys + 1; ++i) ASSERT_EQ(c.reply(), "+OK");
  EXPECT_TRUE(comes_to_say(c, "db0:keys=1"));
  EXPECT_EQ(c.ask("GET", "stays"), "'x'");
}

}  // namespace
