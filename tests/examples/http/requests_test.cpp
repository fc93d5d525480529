// example_http: what it answers to requests that are as they should be.
#include "examples/http/client.h"
#include "support/exposition.h"

namespace {

using thrum::test::exposition_reader;
using thrum::test::http_answer;
using thrum::test::http_client;
class http_requests : public thrum::test::http_server {};

TEST_F(http_requests, an_answer_has_date_type_and_length) {
  http_client client = connect();
  http_answer const answer = client.ask(get("/plaintext"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "Hello, World!");
  EXPECT_EQ(answer.header("Content-Type"), "text/plain");
  EXPECT_EQ(answer.header("Content-Length"), "13");
  EXPECT_EQ(answer.header("Connection"), std::nullopt);
  std::string const date = answer.header("Date").value_or("");
  ASSERT_EQ(date.size(), std::string_view("Sun, 06 Nov 1994 08:49:37 GMT").size()) << date;
  EXPECT_TRUE(date.ends_with(" GMT") && date.substr(3, 2) == ", ") << date;
}

TEST_F(http_requests, a_connection_is_kept_for_the_next_one) {
  http_client client = connect();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(client.ask(get("/plaintext")).body, "Hello, World!");
}

TEST_F(http_requests, a_connection_ends_when_the_client_asks_for_it) {
  http_client client = connect();
  http_answer const answer = client.ask(get("/plaintext", "Connection: close\r\n"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.header("Connection"), "close");
  EXPECT_TRUE(client.is_at_end());
}

TEST_F(http_requests, http_1_0_ends_after_one_and_stays_if_asked_to) {
  http_client once = connect();
  EXPECT_EQ(once.ask("GET /plaintext HTTP/1.0\r\n\r\n").body, "Hello, World!");
  EXPECT_TRUE(once.is_at_end());

  http_client longer = connect();
  for (int i = 0; i < 2; ++i) {
    http_answer const answer = longer.ask("GET /plaintext HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(answer.body, "Hello, World!");
    EXPECT_EQ(answer.header("Connection"), "keep-alive");
  }
}

TEST_F(http_requests, head_is_answered_as_get_without_the_body) {
  http_client client = connect();
  http_answer const answer = client.ask("HEAD /plaintext HTTP/1.1\r\nHost: test\r\n\r\n", http_client::body::left_out);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.header("Content-Length"), "13");
  EXPECT_EQ(client.ask(get("/plaintext")).status, 200);  // so no byte of a body was there
}

TEST_F(http_requests, a_body_comes_back_by_length_and_in_chunks) {
  http_client client = connect();
  EXPECT_EQ(client.ask(post("/echo", "some text")).body, "some text");
  EXPECT_EQ(client.ask(post("/echo", "")).status, 200);
  http_answer const chunked = client.ask(
      "POST /echo HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n"
      "4\r\nsome\r\n5;note=1\r\n text\r\n0\r\nTrailer: of no use\r\n\r\n");
  EXPECT_EQ(chunked.status, 200);
  EXPECT_EQ(chunked.body, "some text");
  std::string const large(1024 * 1024, 'x');
  EXPECT_TRUE(client.ask(post("/echo", large)).body == large);
  EXPECT_EQ(client.ask(get("/plaintext")).status, 200);
}

TEST_F(http_requests, a_client_that_expects_to_continue_is_told_to) {
  http_client client = connect();
  http_answer const first =
      client.ask("POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(first.status, 100);
  EXPECT_EQ(client.ask("text").body, "text");
}

TEST_F(http_requests, may_come_byte_by_byte) {
  start({"--procs", "2"});
  http_client client = connect();
  client.send_bytewise(get("/plaintext", "X-Some-Header:   with blanks  \r\nAccept: */*\r\n"));
  EXPECT_EQ(client.receive().body, "Hello, World!");
  client.send_bytewise(post("/echo", "some text"));
  EXPECT_EQ(client.receive().body, "some text");
  client.send_bytewise(
      "POST /echo HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA\r\ndefghijklm\r\n0\r\n\r\n");
  EXPECT_EQ(client.receive().body, "abcdefghijklm");
}

TEST_F(http_requests, chunks_and_trailers_may_be_cut_anywhere) {
  start({"--procs", "1"});
  http_client client = connect();
  http_client other = connect();
  std::string const all =
      "POST /echo HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\n";
  for (std::size_t cut = all.find("\r\n\r\n"); cut < all.size(); ++cut) {
    EXPECT_TRUE(client.send(std::string_view(all).substr(0, cut)));
    EXPECT_EQ(other.ask(get("/plaintext")).status, 200);  // time for the server to look at the first piece alone
    EXPECT_EQ(client.ask(all.substr(cut)).body, "abc") << cut;
  }
}

TEST_F(http_requests, a_thousand_pipelined_ones_are_answered_in_their_order) {
  for (char const* const procs : {"1", "2", "8"}) {
    start({"--procs", procs});
    http_client client = connect();
    std::string all;
    for (int i = 0; i < 1000; ++i) all += i % 3 == 0 ? get("/plaintext") : post("/echo", std::to_string(i));
    EXPECT_TRUE(client.send(all));
    for (int i = 0; i < 1000; ++i) {
      ASSERT_EQ(client.receive().body, i % 3 == 0 ? "Hello, World!" : std::to_string(i)) << "at P=" << procs;
    }
  }
}

TEST_F(http_requests, an_answer_is_not_kept_back_by_a_slow_one_behind_it) {
  http_client client = connect();
  EXPECT_EQ(client.ask(get("/plaintext") + get("/slow?ms=600000")).status, 200);
}

TEST_F(http_requests, a_target_may_be_a_whole_address) {
  http_client client = connect();
  EXPECT_EQ(client.ask(get("http://test/plaintext?a=b")).body, "Hello, World!");
  EXPECT_EQ(client.ask(get("http://test")).status, 404);
}

TEST_F(http_requests, an_offer_of_another_protocol_is_not_taken) {
  http_client client = connect();
  std::string const offer = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
  EXPECT_EQ(client.ask(get("/plaintext", offer) + get("/plaintext")).status, 200);
  EXPECT_EQ(client.receive().status, 200);
}

TEST_F(http_requests, what_is_not_there_or_not_allowed_is_said_and_the_connection_goes_on) {
  http_client client = connect();
  EXPECT_EQ(client.ask(get("/nothing")).status, 404);
  EXPECT_EQ(client.ask(get("/plaintext/more")).status, 404);
  http_answer const wrong = client.ask(get("/echo"));
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.header("Allow"), "POST");
  EXPECT_EQ(client.ask("DELETE /plaintext HTTP/1.1\r\nHost: test\r\n\r\n").header("Allow"), "GET, HEAD");
  for (char const* const query : {"", "?ms", "?ms=", "?ms=x", "?ms=-1", "?ms=1x", "?ms=600001", "?mss=1"}) {
    EXPECT_EQ(client.ask(get(std::string("/slow") + query)).status, 400) << query;
  }
  EXPECT_EQ(client.ask(get("/slow?a=b&ms=1")).body, "slept 1 ms\n");
}

TEST_F(http_requests, a_handler_that_throws_is_a_500_and_the_server_goes_on) {
  http_client client = connect();
  EXPECT_EQ(client.ask(get("/fail")).status, 500);
  EXPECT_EQ(client.ask(get("/plaintext")).status, 200);
  EXPECT_EQ(connect().ask(get("/plaintext")).status, 200);
}

TEST_F(http_requests, the_stats_tell_of_the_scheduler) {
  start({"--procs", "2"});
  std::string const text = connect().ask(get("/stats")).body;
  EXPECT_TRUE(text.starts_with("procs 2\n")) << text;
  EXPECT_NE(text.find("\ngoroutines_waiting "), std::string::npos) << text;
  EXPECT_NE(text.find("\nproc 1 queued "), std::string::npos) << text;
}

TEST_F(http_requests, the_metrics_are_in_prometheus_form) {
  start({"--procs", "2"});
  std::string const text = connect().ask(get("/metrics")).body;
  exposition_reader const read(text);
  EXPECT_TRUE(read.faults().empty()) << read.faults().front() << "\n" << text;
  EXPECT_EQ(read.value_of("thrum_procs"), 2.0);
}

}  // namespace
