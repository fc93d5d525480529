#include "examples/kv/kv_test.h"
#include "support/scale.h"

#include <string>
#include <thread>
#include <vector>

namespace {

using thrum::test::resp_client;
using thrum::test::scaled;

class kv_pubsub : public thrum::test::kv_test {};
THRUM_KV_AT_EVERY_WIDTH(kv_pubsub);

TEST_P(kv_pubsub, a_message_goes_to_all_subscribers) {
  auto a = connect();
  auto b = connect();
  auto publisher = connect();
  EXPECT_EQ(publisher.ask("PUBLISH", "news", "unheard"), ":0");
  EXPECT_EQ(a.ask("SUBSCRIBE", "news", "other"), "['subscribe', 'news', :1]");
  EXPECT_EQ(a.reply(), "['subscribe', 'other', :2]");
  EXPECT_EQ(b.ask("SUBSCRIBE", "news"), "['subscribe', 'news', :1]");
  EXPECT_EQ(publisher.ask("PUBLISH", "news", "hello"), ":2");
  EXPECT_EQ(publisher.ask("PUBLISH", "other", "there"), ":1");
  EXPECT_EQ(a.reply(), "['message', 'news', 'hello']");
  EXPECT_EQ(a.reply(), "['message', 'other', 'there']");
  EXPECT_EQ(b.reply(), "['message', 'news', 'hello']");
  EXPECT_EQ(a.ask("UNSUBSCRIBE", "news"), "['unsubscribe', 'news', :1]");
  EXPECT_EQ(publisher.ask("PUBLISH", "news", "again"), ":1");
  EXPECT_EQ(b.reply(), "['message', 'news', 'again']");
  b.close();
  while (publisher.ask("PUBLISH", "news", "gone") != ":0") {
  }
}

TEST_P(kv_pubsub, patterns_match_channels) {
  auto a = connect();
  auto publisher = connect();
  EXPECT_EQ(a.ask("PSUBSCRIBE", "h[ae]llo.*", "?"), "['psubscribe', 'h[ae]llo.*', :1]");
  EXPECT_EQ(a.reply(), "['psubscribe', '?', :2]");
  EXPECT_EQ(a.ask("SUBSCRIBE", "hallo.x"), "['subscribe', 'hallo.x', :3]");
  EXPECT_EQ(publisher.ask("PUBLISH", "hillo.x", "m"), ":0");
  EXPECT_EQ(publisher.ask("PUBLISH", "hallo.x", "m"), ":2");
  EXPECT_EQ(a.reply(), "['message', 'hallo.x', 'm']");
  EXPECT_EQ(a.reply(), "['pmessage', 'h[ae]llo.*', 'hallo.x', 'm']");
  EXPECT_EQ(a.ask("PUNSUBSCRIBE", "?"), "['punsubscribe', '?', :2]");
  EXPECT_EQ(a.ask("PUNSUBSCRIBE"), "['punsubscribe', 'h[ae]llo.*', :1]");
  EXPECT_EQ(a.ask("UNSUBSCRIBE"), "['unsubscribe', 'hallo.x', :0]");
  EXPECT_EQ(a.ask("UNSUBSCRIBE"), "['unsubscribe', nil, :0]");
}

TEST_P(kv_pubsub, a_subscriber_may_only_ask_some_things_until_it_has_left) {
  auto a = connect();
  EXPECT_EQ(a.ask("PING"), "+PONG");
  EXPECT_EQ(a.ask("SUBSCRIBE", "c"), "['subscribe', 'c', :1]");
  EXPECT_EQ(a.ask("PING"), "['pong', '']");
  EXPECT_EQ(a.ask("PING", "x"), "['pong', 'x']");
  EXPECT_EQ(
      a.ask("GET", "k"),
      "-ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context");
  EXPECT_EQ(a.ask("UNSUBSCRIBE", "c"), "['unsubscribe', 'c', :0]");
  EXPECT_EQ(a.ask("SET", "k", "v"), "+OK");
  EXPECT_EQ(a.ask("SUBSCRIBE", "c"), "['subscribe', 'c', :1]");
  EXPECT_EQ(a.ask("QUIT"), "+OK");
  EXPECT_EQ(a.reply(), "end");
}

// All subscribers see the messages in the same order, also if several clients publish.
TEST_P(kv_pubsub, all_subscribers_see_all_messages_in_the_same_order) {
  auto a = connect();
  auto b = connect();
  EXPECT_EQ(a.ask("SUBSCRIBE", "c"), "['subscribe', 'c', :1]");
  EXPECT_EQ(b.ask("PSUBSCRIBE", "c"), "['psubscribe', 'c', :1]");
  int const each = static_cast<int>(scaled(500, 50));
  std::vector<std::thread> publishers;
  for (char const* const name : {"x", "y", "z"}) {
    publishers.emplace_back([&, name] {
      auto c = connect();
      for (int i = 0; i < each; ++i) EXPECT_EQ(c.ask("PUBLISH", "c", name + std::to_string(i)), ":2");
    });
  }
  for (auto& thread : publishers) thread.join();
  for (int i = 0; i < 3 * each; ++i) {
    std::string const seen = a.reply();
    EXPECT_EQ(b.reply(), "['pmessage', 'c', " + seen.substr(std::string("['message', ").size()));
  }
}

// A subscriber that does not read is disconnected at 32 MiB. Publishers never wait for it, and the other subscribers
// get every message.
TEST_P(kv_pubsub, a_subscriber_that_does_not_read_is_cut_off) {
  auto slow = connect(4096);
  auto publisher = connect();
  EXPECT_EQ(slow.ask("SUBSCRIBE", "c"), "['subscribe', 'c', :1]");
  std::string const message(1'000'000, 'm');
  int published = 0;
  while (publisher.ask("PUBLISH", "c", message) != ":0" && published < 1'000) ++published;
  EXPECT_GT(published, 30);
  EXPECT_LT(published, 1'000);
  EXPECT_EQ(publisher.ask("PING"), "+PONG");
}

}  // namespace
