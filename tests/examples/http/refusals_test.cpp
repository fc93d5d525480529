// example_http: which requests it refuses, and that the client can read the reason. A refusal ends the connection,
// because it is not certain where the next request would begin.
#include "examples/http/client.h"

#include <chrono>

#include <poll.h>

namespace {

using namespace std::string_literals;
using thrum::test::http_answer;
using thrum::test::http_client;

class http_refusals : public thrum::test::http_server {};

struct refused {
  char const* what;
  std::string bytes;
  int status;
};

std::string of_chunks(std::string const& chunks) {
  return "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks;
}

std::vector<refused> const malformed{
    {"no request at all", "hello\r\n\r\n", 501},
    {"a TLS greeting", std::string("\x16\x03\x01\x00\xa5\x01", 6), 400},
    {"a method in small letters", "get / HTTP/1.1\r\nHost: a\r\n\r\n", 501},
    {"an unknown method", "BREW /plaintext HTTP/1.1\r\nHost: a\r\n\r\n", 501},
    {"a method for others", "PROPFIND /plaintext HTTP/1.1\r\nHost: a\r\n\r\n", 501},
    {"a tunnel", "CONNECT example.org:80 HTTP/1.1\r\nHost: a\r\n\r\n", 501},
    {"no version, as in 0.9", "GET /plaintext\r\n\r\n", 505},
    {"another protocol", "GET /plaintext ICE/1.0\r\nHost: a\r\n\r\n", 400},
    {"a version without digits", "GET /plaintext HTTP/x.y\r\nHost: a\r\n\r\n", 400},
    {"version 2.0", "GET /plaintext HTTP/2.0\r\nHost: a\r\n\r\n", 505},
    {"version 1.2", "GET /plaintext HTTP/1.2\r\nHost: a\r\n\r\n", 505},
    {"version 0.9", "GET /plaintext HTTP/0.9\r\nHost: a\r\n\r\n", 505},
    {"HTTP/2 by prior knowledge", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
    {"no host", "GET /plaintext HTTP/1.1\r\n\r\n", 400},
    {"two hosts", "GET /plaintext HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
    {"a target without a slash", "GET plaintext HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"a star", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"a header without a colon", "GET /plaintext HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n", 400},
    {"a header without a name", "GET /plaintext HTTP/1.1\r\nHost: a\r\n: value\r\n\r\n", 400},
    {"a zero in a header", "GET /plaintext HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n"s, 400},
    {"a header folded over two lines", "GET /plaintext HTTP/1.1\r\nHost: a\r\nX: one\r\n two\r\n\r\n", 400},
    {"a length that is no number", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: ten\r\n\r\n", 400},
    {"a length below zero", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400},
    {"a length beyond all numbers", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
     400},
    {"no length", "POST /echo HTTP/1.1\r\nHost: a\r\n\r\n", 411},
    {"an expectation of its own", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: more\r\n\r\n", 417},
    {"a body without a resource", "POST /nothing HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n", 404},
    {"a body where none is taken", "POST /plaintext HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n", 405},
    {"a chunk without a size", of_chunks("\r\n"), 400},
    {"a chunk with a size in other digits", of_chunks("xyz\r\n"), 400},
    {"a chunk beyond all numbers", of_chunks("fffffffffffffffff\r\n"), 400},
    {"a chunk that is longer than it said", of_chunks("2\r\nabc\r\n0\r\n\r\n"), 400},
};

// If two servers read one of these as different requests, an attacker can make one of them see requests that no client
// sent.
std::vector<refused> const ambiguous{
    {"length and chunks",
     "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
    {"chunks and length",
     "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400},
    {"two lengths", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400},
    {"the same length twice", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na", 400},
    {"a list of lengths", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\na", 400},
    {"a length with a sign", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\na", 400},
    {"a length in other digits", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\na", 400},
    {"a blank before the colon", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length : 1\r\n\r\na", 400},
    {"a blank before the colon of the encoding",
     "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400},
    {"a blank before the first header", "POST /echo HTTP/1.1\r\n Host: a\r\nContent-Length: 1\r\n\r\na", 400},
    {"lines that end with LF alone", "GET /plaintext HTTP/1.1\nHost: a\n\n", 400},
    {"a header that ends with LF alone", "GET /plaintext HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", 400},
    {"a header that ends with CR alone", "GET /plaintext HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", 400},
    {"an empty line of LF alone", "GET /plaintext HTTP/1.1\r\nHost: a\r\n\n", 400},
    {"a chunk that ends with LF alone", of_chunks("1\na\n0\n\n"), 400},
    {"the last chunk's size before LF alone", of_chunks("0\n\r\n"), 400},
    {"no trailers, and an empty line of LF alone", of_chunks("0\r\n\n"), 400},
    {"chunks, and an empty line of LF alone", of_chunks("1\r\na\r\n0\r\n\n"), 400},
    {"a trailer that ends with LF alone", of_chunks("0\r\nX: y\n\r\n"), 400},
    {"a trailer and an empty line of LF alone", of_chunks("0\r\nX: y\r\n\n"), 400},
    {"an encoding behind the chunks",
     "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", 400},
    {"an encoding before the chunks",
     "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501},
    {"an encoding without chunks", "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n", 400},
    {"chunks twice",
     "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     400},
    {"chunks almost", "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400},
    {"chunks in 1.0, which has none", "POST /echo HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     400},
};

TEST_F(http_refusals, of_what_is_malformed_or_ambiguous_and_nothing_behind_it_is_served) {
  start();
  for (auto const* const table : {&malformed, &ambiguous}) {
    for (refused const& each : *table) {
      http_client client = connect();
      // What is behind it could be a part of it.
      http_answer const answer = client.ask(each.bytes + get("/plaintext"));
      EXPECT_EQ(answer.status, each.status) << each.what << "\n" << answer.head;
      EXPECT_EQ(answer.header("Connection"), "close") << each.what;
      EXPECT_TRUE(client.is_at_end()) << each.what;
    }
  }
}

TEST_F(http_refusals, also_byte_by_byte) {
  start();
  for (refused const& each : ambiguous) {
    http_client client = connect();
    for (char const& byte : each.bytes) {
      if (!client.send({&byte, 1})) break;  // refused before its end
    }
    int const status = client.receive().status;
    EXPECT_EQ(status, each.status) << each.what;
  }
}

TEST_F(http_refusals, a_body_that_is_too_large_is_not_waited_for) {
  http_client by_length = connect();
  EXPECT_EQ(by_length.ask("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\n\r\n").status, 413);
  EXPECT_TRUE(by_length.is_at_end());

  http_client asks_first = connect();
  EXPECT_EQ(asks_first.ask("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\nExpect: 100-continue\r\n\r\n")
                .status,
            413);

  http_client by_chunks = connect();
  std::string const chunk = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
  EXPECT_TRUE(by_chunks.send(of_chunks("")));
  for (int i = 0; i < 17 && by_chunks.send(chunk); ++i) {
  }
  EXPECT_EQ(by_chunks.receive().status, 413);
}

TEST_F(http_refusals, of_head_have_no_body) {
  http_client client = connect();
  EXPECT_EQ(client.ask("HEAD /plaintext HTTP/1.1\r\n\r\n", http_client::body::left_out).status, 400);
  EXPECT_TRUE(client.is_at_end());
}

TEST_F(http_refusals, a_head_that_is_too_large) {
  EXPECT_EQ(connect().ask(get("/plaintext", "X: " + std::string(15'000, 'x') + "\r\n")).status, 200);
  EXPECT_EQ(connect().ask(get("/plaintext", "X: " + std::string(20'000, 'x') + "\r\n")).status, 431);
  EXPECT_EQ(connect().ask(get("/" + std::string(20'000, 'x'))).status, 431);
  std::string many;
  for (int i = 0; i < 99; ++i) many += "X: y\r\n";
  EXPECT_EQ(connect().ask(get("/plaintext", many)).status, 200);
  EXPECT_EQ(connect().ask(get("/plaintext", many + "X: y\r\n")).status, 431);
}

TEST_F(http_refusals, a_request_that_comes_too_slowly_is_timed_out_however_it_trickles) {
  start({"--request-ms", "300"});
  http_client stalled = connect();
  EXPECT_EQ(stalled.ask("GET /plaintext HTT").status, 408);
  EXPECT_TRUE(stalled.is_at_end());

  http_client without_body = connect();
  EXPECT_EQ(without_body.ask("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab").status, 408);

  http_client trickling = connect();
  EXPECT_TRUE(trickling.send("GET /plaintext HTTP/1.1\r\nX: "));
  auto const limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!trickling.has_something() && std::chrono::steady_clock::now() < limit) {
    static_cast<void>(trickling.send("x"));  // it may have been answered just now
    ::poll(nullptr, 0, 5);
  }
  EXPECT_EQ(trickling.receive().status, 408);
}

TEST_F(http_refusals, a_connection_that_asks_for_nothing_is_closed_without_a_word) {
  start({"--idle-ms", "700"});
  http_client never = connect();
  http_client no_longer = connect();
  EXPECT_EQ(no_longer.ask(get("/plaintext")).status, 200);
  EXPECT_TRUE(never.is_at_end());
  EXPECT_TRUE(no_longer.is_at_end());
}

TEST_F(http_refusals, a_request_that_takes_longer_than_the_idle_time_is_answered_all_the_same) {
  start({"--idle-ms", "500"});
  http_client client = connect();
  EXPECT_EQ(client.ask(get("/slow?ms=800")).status, 200);
}

TEST_F(http_refusals, a_client_that_does_not_read_is_given_up) {
  start({"--idle-ms", "1000"});
  http_client client = connect();
  std::string const question = post("/echo", std::string(1000 * 1000, 'x'));
  bool gone = false;
  for (int i = 0; i < 1000 && !gone; ++i) gone = !client.send(question);
  EXPECT_TRUE(gone);
  EXPECT_EQ(connect().ask(get("/plaintext")).status, 200);
}

}  // namespace
