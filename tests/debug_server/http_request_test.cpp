// The reader of HTTP requests, and what it refuses.
#include "live/http_request.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace thrum::live {
namespace {

using outcome = http_head::outcome;

std::string with_fields(std::string_view fields) {
  return "GET / HTTP/1.1\r\nHost: localhost\r\n" + std::string(fields) + "\r\n";
}

int status_of(std::string_view received) {
  http_head const head = read_head(received);
  return head.is == outcome::bad ? head.status : 0;
}

TEST(http_request, is_read_as_it_was_sent) {
  std::string_view const sent =
      "POST /api/v1/trace?seconds=5&x=%41 HTTP/1.1\r\nhost:  127.0.0.1:6070 \r\nOrigin:http://127.0.0.1:6070\r\n"
      "AUTHORIZATION: Bearer abc\r\nSec-Fetch-Site: same-origin\r\nContent-Length: 0\r\n\r\nGET / ";
  http_head const head = read_head(sent);
  ASSERT_EQ(head.is, outcome::complete);
  EXPECT_EQ(head.bytes, sent.size() - std::string_view("GET / ").size());
  EXPECT_EQ(head.request.method, http_method::post);
  EXPECT_EQ(head.request.path, "/api/v1/trace");
  EXPECT_EQ(head.request.query, "seconds=5&x=%41");
  EXPECT_EQ(head.request.host, "127.0.0.1:6070");
  EXPECT_EQ(head.request.origin, "http://127.0.0.1:6070");
  EXPECT_EQ(head.request.authorization, "Bearer abc");
  EXPECT_EQ(head.request.fetch_site, "same-origin");
  EXPECT_TRUE(head.request.stays_open);
}

TEST(http_request, is_incomplete_up_to_its_last_byte_and_the_same_however_it_arrives) {
  std::string const sent = with_fields("Accept: */*\r\n");
  for (std::size_t bytes = 0; bytes < sent.size(); ++bytes) {
    EXPECT_EQ(read_head(sent.substr(0, bytes)).is, outcome::incomplete) << bytes;
  }
  EXPECT_EQ(read_head(sent).bytes, sent.size());
}

TEST(http_request, closes_the_connection_if_it_says_so_or_is_of_version_1_0) {
  EXPECT_FALSE(read_head(with_fields("Connection: Close\r\n")).request.stays_open);
  EXPECT_FALSE(read_head(with_fields("Connection: TE, close\r\n")).request.stays_open);
  EXPECT_TRUE(read_head(with_fields("Connection: keep-alive\r\n")).request.stays_open);
  EXPECT_FALSE(read_head("GET / HTTP/1.0\r\nHost: a\r\n\r\n").request.stays_open);
}

TEST(http_request, that_is_malformed_is_refused) {
  for (std::string_view const line :
       {"GET /", "GET", " / HTTP/1.1", "GET  HTTP/1.1", "GET / HTTP", "GET / http/1.1", "G(T / HTTP/1.1",
        "GET /a b HTTP/1.1", "GET http://a/ HTTP/1.1", "GET * HTTP/1.1", "GET /\x80 HTTP/1.1", "\tGET / HTTP/1.1"}) {
    EXPECT_EQ(status_of(std::string(line) + "\r\nHost: a\r\n\r\n"), 400) << line;
  }
  EXPECT_EQ(status_of("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505);
  for (std::string_view const fields :
       {"no colon\r\n", ": no name\r\n", "Blank : before\r\n", "A: b\r\n continued\r\n", "A: \x01\r\n", "A: b\rc\r\n",
        "A: b\nC: d\r\n", "A: \x7f\r\n", "Host: again\r\n", "Origin: a\r\nOrigin: a\r\n",
        "Authorization: a\r\nauthorization: b\r\n", "Content-Length: 0\r\nContent-Length: 0\r\n",
        "Content-Length: -1\r\n", "Content-Length:\r\n", "Content-Length: 0x0\r\n"}) {
    EXPECT_EQ(status_of(with_fields(fields)), 400) << fields;
  }
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 400) << "without Host";
  EXPECT_EQ(status_of(std::string_view("GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n", 31)), 400) << "a NUL character";
}

TEST(http_request, with_a_body_is_refused) {
  EXPECT_EQ(status_of(with_fields("Content-Length: 1\r\n")), 413);
  EXPECT_EQ(status_of(with_fields("Content-Length: 99999999999999999999999999\r\n")), 413);
  EXPECT_EQ(status_of(with_fields("Transfer-Encoding: chunked\r\n")), 501);
}

TEST(http_request, that_is_not_HTTP_is_refused_before_it_is_complete) {
  EXPECT_EQ(status_of(std::string_view("\x16\x03\x01\x02\x00\x01", 6)), 400) << "a TLS client";
  EXPECT_EQ(status_of("GET /\x01"), 400);
  EXPECT_EQ(status_of("\r\n"), 400);
}

TEST(http_request, is_bounded_in_its_bytes_and_its_fields) {
  std::string const room(head_bytes_max - with_fields("A: \r\n").size(), 'x');
  EXPECT_EQ(read_head(with_fields("A: " + room + "\r\n")).is, outcome::complete);
  EXPECT_EQ(status_of(with_fields("A: " + room + "y\r\n")), 431);
  EXPECT_EQ(status_of("GET /" + std::string(2 * head_bytes_max, 'a')), 431);
  std::string fields;
  for (std::size_t i = 1; i < head_fields_max; ++i) fields += "A: b\r\n";
  EXPECT_EQ(read_head(with_fields(fields)).is, outcome::complete);
  EXPECT_EQ(status_of(with_fields(fields + "A: b\r\n")), 431);
}

// Whatever the bytes are, the reader says something about them. The sanitized builds see what it reads.
TEST(http_request, may_be_any_bytes) {
  std::string const whole = with_fields("Content-Length: 0\r\nConnection: a, close\r\n");
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = whole;
      changed[at] = static_cast<char>(byte);
      http_head const head = read_head(changed);
      EXPECT_EQ(head.is == outcome::bad, head.why != nullptr);
      EXPECT_LE(head.bytes, changed.size());
    }
  }
}

TEST(query_parameter, is_found_and_decoded) {
  EXPECT_EQ(parameter("a=1&b=x%20y+z&c", "a"), "1");
  EXPECT_EQ(parameter("a=1&b=x%20y+z&c", "b"), "x y z");
  EXPECT_EQ(parameter("a=1&b=x%20y+z&c", "c"), "");
  EXPECT_EQ(parameter("a=1&b=2", "d"), std::nullopt);
  EXPECT_EQ(parameter("", "d"), std::nullopt);
  EXPECT_EQ(parameter("a=%4", "a"), "");
  EXPECT_EQ(parameter("a=%zz", "a"), "");
  EXPECT_EQ(parameter("a=%c3%A9", "a"), "\xc3\xa9");
  EXPECT_EQ(parameter("&&=&a=b=c", "a"), "b=c");
}

}  // namespace
}  // namespace thrum::live
