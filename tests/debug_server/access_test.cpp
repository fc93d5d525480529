// Who may ask the live view: by the rules alone, and of a server.
#include "live/access.h"

#include "debug_server/http_client.h"
#include "support/run_at.h"
#include <thrum/debug.h>
#include <thrum/thrum.h>

#include <stdexcept>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using live::access_rules;
using live::http_request;

constexpr std::string_view secret = "0123456789abcdef";

int status_of(http_request const& asked, access_rules const& rules = {}) { return refuse(asked, rules).status; }

http_request from_host(std::string_view host) { return {.path = "/metrics", .host = host}; }

TEST(access_rules, let_in_addresses_and_localhost_and_the_names_that_the_program_allows) {
  for (std::string_view const host :
       {"127.0.0.1:6070", "127.0.0.1", "[::1]:6070", "[::1]", "localhost:6070", "LOCALHOST", "192.0.2.7:6070"}) {
    EXPECT_EQ(status_of(from_host(host)), 0) << host;
  }
  for (std::string_view const host : {"attacker.example:6070", "localhost.attacker.example", "127.0.0.1.example",
                                      "[::1", "", ":6070", "127.0.0.1@attacker.example", "1.2.3", "[localhost"}) {
    EXPECT_EQ(status_of(from_host(host)), 403) << host;
    EXPECT_EQ(status_of(from_host(host), {.hosts = {"debug.example"}}), 403) << host;
  }
  EXPECT_EQ(status_of(from_host("Debug.example:6070"), {.hosts = {"debug.example"}}), 0);
}

TEST(access_rules, keep_pages_of_other_sites_out) {
  auto const from = [](std::string_view origin) {
    return http_request{.path = "/api/v1/trace", .host = "127.0.0.1:6070", .origin = origin};
  };
  EXPECT_EQ(status_of(from("http://127.0.0.1:6070")), 0);
  EXPECT_EQ(status_of(from("https://127.0.0.1:6070")), 0);
  for (std::string_view const origin : {"http://attacker.example", "null", "http://127.0.0.1:6071", "http://127.0.0.1",
                                        "file://", "http://127.0.0.1:6070.attacker.example"}) {
    EXPECT_EQ(status_of(from(origin)), 403) << origin;
  }
  http_request asked = from_host("127.0.0.1:6070");
  for (std::string_view const site : {"cross-site", "same-site"}) {
    asked.fetch_site = site;
    EXPECT_EQ(status_of(asked), 403) << site;
  }
  asked.path = "/";
  EXPECT_EQ(status_of(asked), 0) << "a link to the page may be anywhere";
}

TEST(access_rules, want_the_token_if_there_is_one) {
  access_rules const rules{.token = std::string(secret), .hosts = {}};
  http_request asked = from_host("localhost");
  EXPECT_EQ(status_of(asked, rules), 401);
  for (std::string_view const wrong : {"Bearer ", "Bearer 0123456789abcdeX", "Bearer 0123456789abcde",
                                       "Bearer 0123456789abcdef0", "Basic 0123456789abcdef", "0123456789abcdef"}) {
    asked.authorization = wrong;
    EXPECT_EQ(status_of(asked, rules), 401) << wrong;
  }
  asked.authorization = "Bearer 0123456789abcdef";
  EXPECT_EQ(status_of(asked, rules), 0);
  asked.authorization = {};
  asked.query = "a=b&token=0123456789abcdef";
  EXPECT_EQ(status_of(asked, rules), 0);
  asked.query = "token=";
  EXPECT_EQ(status_of(asked, rules), 401);
  asked = from_host("attacker.example");
  asked.authorization = "Bearer 0123456789abcdef";
  EXPECT_EQ(status_of(asked, rules), 403) << "a token does not replace the host";
}

TEST(live_view_access, is_refused_over_the_network_as_by_the_rules) {
  test::run_at(2, [] {
    debug::server const server = debug::serve("127.0.0.1:0", {.token = std::string(secret)});
    blocking([&] {
      EXPECT_EQ(test::ask_once(server.address(), "GET /").status, 401);
      EXPECT_EQ(test::ask_once(server.address(), "GET /?token=0123456789abcdef").status, 200);
      EXPECT_EQ(test::ask_once(server.address(), "GET /", "Authorization: Bearer 0123456789abcdef\r\n").status, 200);
      test::http_client rebound(server.address());
      rebound.send("GET /metrics?token=0123456789abcdef HTTP/1.1\r\nHost: attacker.example\r\n\r\n");
      EXPECT_EQ(rebound.answer().status, 403);
      EXPECT_EQ(test::ask_once(server.address(), "POST /api/v1/trace?token=0123456789abcdef",
                               "Origin: http://attacker.example\r\n")
                    .status,
                403);
      EXPECT_FALSE(trace::is_on());
    });
  });
}

TEST(live_view_access, beyond_this_machine_needs_the_option_and_a_token) {
  test::run_at(2, [] {
    EXPECT_THROW(debug::serve("0.0.0.0:0"), std::invalid_argument);
    EXPECT_THROW(debug::serve("[::]:0"), std::invalid_argument);
    EXPECT_THROW(debug::serve("0.0.0.0:0", {.token = std::string(secret)}), std::invalid_argument);
    EXPECT_THROW(debug::serve("0.0.0.0:0", {.beyond_loopback = true}), std::invalid_argument);
    EXPECT_THROW(debug::serve("127.0.0.1:0", {.token = "short"}), std::invalid_argument);
    debug::server const server = debug::serve("0.0.0.0:0", {.beyond_loopback = true, .token = std::string(secret)});
    endpoint here = endpoint::parse("127.0.0.1:0");
    here.set_port(server.address().port());
    blocking([&] { EXPECT_EQ(test::ask_once(here, "GET /metrics").status, 401); });
  });
}

}  // namespace
}  // namespace thrum
