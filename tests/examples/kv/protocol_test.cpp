// Bytes on the wire, in all the pieces in which they can come.
#include "examples/kv/kv_test.h"
#include "support/scale.h"

#include <string>
#include <thread>
#include <vector>

namespace {

using thrum::test::resp_client;
using thrum::test::scaled;

class kv_protocol : public thrum::test::kv_test {};
THRUM_KV_AT_EVERY_WIDTH(kv_protocol);

void expect_replies_to_pieces(resp_client& c) {
  EXPECT_EQ(c.reply(), "+OK");
  EXPECT_EQ(c.reply(), "'a\r\nb'");
  EXPECT_EQ(c.reply(), ":4");
  EXPECT_EQ(c.reply(), "'a\r\nb'");
}

std::string several_requests() {
  return resp_client::encoded({"SET", "key", "a\r\nb"}) + "\r\nGET key\r\n" + "*0\r\n" + "*-1\r\n" +
         resp_client::encoded({"APPEND", "key", ""}) + "get \"k\\x65y\"\n";
}

TEST_P(kv_protocol, requests_may_come_byte_by_byte) {
  auto c = connect();
  for (char const byte : several_requests()) ASSERT_TRUE(c.send_raw({&byte, 1}));
  expect_replies_to_pieces(c);
}

TEST_P(kv_protocol, requests_may_be_cut_anywhere) {
  auto c = connect();
  auto other = connect();
  std::string const all = several_requests();
  for (std::size_t cut = 0; cut <= all.size(); ++cut) {
    c.send_raw(std::string_view(all).substr(0, cut));
    EXPECT_EQ(other.ask("PING"), "+PONG");  // time for the server to look at the first piece alone
    c.send_raw(std::string_view(all).substr(cut));
    expect_replies_to_pieces(c);
  }
}

TEST_P(kv_protocol, inline_words_may_be_quoted) {
  auto c = connect();
  c.send_raw(
      "SET quoted \"a b\\n\\x41\\\"\"\r\n  GET   quoted  \r\nSET 'single \\' quoted' x\nEXISTS \"single ' quoted\"\r\n");
  EXPECT_EQ(c.reply(), "+OK");
  EXPECT_EQ(c.reply(), "'a b\nA\"'");
  EXPECT_EQ(c.reply(), "+OK");
  EXPECT_EQ(c.reply(), ":1");
}

TEST_P(kv_protocol, what_is_no_request_is_answered_and_ends_the_connection) {
  struct {
    std::string sent;
    std::string answer;
  } const cases[] = {
      {"*x\r\n", "invalid multibulk length"},
      {"*1048577\r\n", "invalid multibulk length"},
      {"*99999999999999999999\r\n", "invalid multibulk length"},
      {"*1\r\n:3\r\nGET\r\n", "expected '$', got ':'"},
      {"*1\r\n$-1\r\n", "invalid bulk length"},
      {"*1\r\n$03\r\nGET\r\n", "invalid bulk length"},
      {"*1\r\n$536870913\r\n", "invalid bulk length"},
      {"SET \"a b\r\n", "unbalanced quotes in request"},
      {"SET \"a\"b\r\n", "unbalanced quotes in request"},
      {std::string(70'000, 'x'), "too big inline request"},
      {std::string(70'000, 'x') + "\n", "too big inline request"},
      {"*" + std::string(70'000, '1'), "too big mbulk count string"},
      {"*1\r\n$" + std::string(70'000, '1'), "too big bulk count string"},
  };
  for (auto const& each : cases) {
    auto c = connect();
    c.send_raw(resp_client::encoded({"ECHO", "before"}) + each.sent);
    EXPECT_EQ(c.reply(), "'before'");
    EXPECT_EQ(c.reply(), "-ERR Protocol error: " + each.answer);
    EXPECT_EQ(c.reply(), "end") << each.answer;
  }
}

TEST_P(kv_protocol, what_is_announced_costs_nothing_until_it_comes) {
  auto announcing = connect();
  announcing.send_raw("*1000000\r\n$536870912\r\nsome");
  EXPECT_EQ(connect().ask("PING"), "+PONG");
}

TEST_P(kv_protocol, a_pipeline_is_answered_in_order) {
  auto c = connect();
  int const commands = static_cast<int>(scaled(10'000, 1'000));
  std::string all;
  for (int i = 0; i < commands; ++i) all += resp_client::encoded({"ECHO", std::to_string(i)});
  // The replies may fill the sockets' buffers, so this thread reads them while another one sends.
  std::thread sender([&] { c.send_raw(all); });
  int answered = 0;
  while (answered < commands && c.reply() == "'" + std::to_string(answered) + "'") ++answered;
  sender.join();
  EXPECT_EQ(answered, commands);
}

TEST_P(kv_protocol, huge_values_come_back_as_they_were) {
  auto c = connect();
  std::string value(static_cast<std::size_t>(scaled(16'000'000, 4'000'000)), 'v');
  value[value.size() / 2] = '\n';
  EXPECT_EQ(c.ask("SET", "huge", value), "+OK");
  EXPECT_EQ(c.ask("STRLEN", "huge"), ":" + std::to_string(value.size()));
  EXPECT_EQ(c.ask("GET", "huge") == "'" + value + "'", true);
  EXPECT_EQ(c.ask("DEL", "huge"), ":1");
}

// A client that asks and does not read waits, alone.
TEST_P(kv_protocol, a_slow_reader_does_not_hold_up_others) {
  auto slow = connect(4096);
  std::string const value(1'000'000, 'v');
  EXPECT_EQ(slow.ask("SET", "large", value), "+OK");
  constexpr int asked = 20;  // more than the sockets hold
  for (int i = 0; i < asked; ++i) slow.send("GET", "large");
  auto other = connect();
  for (int i = 0; i < 100; ++i) ASSERT_EQ(other.ask("INCR", "large count"), ":" + std::to_string(i + 1));
  for (int i = 0; i < asked; ++i) ASSERT_TRUE(slow.reply() == "'" + value + "'");
}

TEST_P(kv_protocol, quit_is_answered_and_ends_the_connection) {
  auto c = connect();
  c.send_raw("PING\r\nQUIT\r\nPING\r\n");
  EXPECT_EQ(c.reply(), "+PONG");
  EXPECT_EQ(c.reply(), "+OK");
  EXPECT_EQ(c.reply(), "end");
}

}  // namespace
