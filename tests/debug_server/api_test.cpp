// What the live view answers.
#include "debug_server/http_client.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/debug.h>
#include <thrum/thrum.h>

#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum {
namespace {

using test::ask_once;
using test::http_client;
using test::http_response;

// Calls body(server) as a blocking call of the main goroutine.
template <class F>
void serve_at(int procs, F body) {
  test::run_at(procs, [&] {
    debug::server const server = debug::serve("127.0.0.1:0");
    blocking([&] { body(server); });
  });
}

TEST(live_view, answers_with_the_page_and_says_that_no_other_site_may_use_it) {
  serve_at(2, [](debug::server const& server) {
    http_response const page = ask_once(server.address(), "GET /");
    EXPECT_EQ(page.status, 200);
    EXPECT_TRUE(page.has("id=\"recording\""));
    EXPECT_NE(page.head.find("Content-Type: text/html; charset=utf-8\r\n"), std::string::npos);
    for (std::string_view const field : {"Cache-Control: no-store", "X-Content-Type-Options: nosniff",
                                         "X-Frame-Options: DENY", "Referrer-Policy: no-referrer"}) {
      EXPECT_NE(page.head.find(field), std::string::npos) << field;
    }
  });
}

TEST(live_view, lets_a_browser_run_the_script_of_the_page_and_nothing_else) {
  serve_at(2, [](debug::server const& server) {
    std::string const page = ask_once(server.address(), "GET /").head;
    std::size_t const at = page.find("\r\nContent-Security-Policy: default-src 'none'; script-src 'sha256-");
    ASSERT_NE(at, std::string::npos) << page;
    std::string const policy = page.substr(at, page.find("\r\n", at + 2) - at);
    EXPECT_NE(policy.find("='; style-src"), std::string::npos) << "the script is not 'unsafe-inline': " << policy;
    for (std::string_view const part : {"connect-src 'self';", "frame-ancestors 'none'", "base-uri 'none';"}) {
      EXPECT_NE(policy.find(part), std::string::npos) << policy;
    }
    for (std::string_view const path : {"GET /metrics", "GET /api/v1/about", "GET /nothing"}) {
      std::string const head = ask_once(server.address(), path).head;
      EXPECT_NE(head.find("\r\nContent-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n"),
                std::string::npos)
          << head;
    }
  });
}

TEST(live_view, has_the_metrics_for_prometheus) {
  serve_at(2, [](debug::server const& server) {
    http_response const got = ask_once(server.address(), "GET /metrics");
    EXPECT_EQ(got.status, 200);
    EXPECT_NE(got.head.find("text/plain; version=0.0.4"), std::string::npos);
    EXPECT_TRUE(got.has("thrum_goroutines_created_total"));
  });
}

TEST(live_view, tells_figures_as_json) {
  serve_at(2, [](debug::server const& server) {
    http_response const got = ask_once(server.address(), "GET /api/v1/stats");
    EXPECT_EQ(got.status, 200);
    EXPECT_TRUE(got.has("\"max_procs\":2,")) << got.body;
    EXPECT_TRUE(got.has("\"procs.0.status\":\"")) << got.body;
    http_response const about = ask_once(server.address(), "GET /api/v1/about");
    EXPECT_TRUE(about.has("\"pid\":" + std::to_string(::getpid()))) << about.body;
  });
}

void make_waiting(int count, chan<int> const& until) {
  for (int i = 0; i < count; ++i) {
    go([until] { static_cast<void>(until.recv()); });
  }
}

// Goroutines that wait for the channel to be closed.
template <class F>
void serve_beside(int waiting, F body) {
  test::run_at(2, [&] {
    chan<int> const until(0);
    make_waiting(waiting, until);
    debug::server const server = debug::serve("127.0.0.1:0");
    EXPECT_TRUE(test::yield_until([&] { return read_stats().waiting >= static_cast<std::uint64_t>(waiting); }));
    blocking([&] { body(server); });
    until.close();
  });
}

TEST(live_view, lists_goroutines_with_search_order_and_limit) {
  serve_beside(50, [](debug::server const& server) {
    auto const ask = [&](std::string const& query) {
      return ask_once(server.address(), "GET /api/v1/goroutines" + query);
    };
    http_response const all = ask("?limit=1000");
    EXPECT_TRUE(all.has("{\"total\":51,\"matching\":51,\"goroutines\":[{\"id\":1,")) << all.body;
    EXPECT_TRUE(all.has("\"reason\":\"chan receive\"")) << all.body;
    http_response const some = ask("?search=chan+receive&limit=2&offset=1");
    EXPECT_TRUE(some.has("\"matching\":50,")) << some.body;
    EXPECT_EQ(some.body.find("\"id\":"), some.body.find("\"id\":3,")) << "ids are 2, 3, 4 and so on: " << some.body;
    EXPECT_TRUE(some.has("\"id\":4,") && !some.has("\"id\":5,")) << some.body;
    EXPECT_TRUE(ask("?search=make_waiting").has("\"matching\":50,"));
    EXPECT_TRUE(ask("?search=nothing+of+this").has("\"matching\":0,\"goroutines\":[]"));
    http_response const groups = ask("?group=place&search=receive");
    EXPECT_TRUE(groups.has("\"matching\":1,\"groups\":[{\"count\":50,\"state\":\"waiting\"")) << groups.body;
    for (std::string const wrong : {"?limit=x", "?limit=10001", "?offset=-1", "?sort=size", "?group=none"}) {
      EXPECT_EQ(ask(wrong).status, 400) << wrong;
    }
  });
}

TEST(live_view, shows_the_stack_of_one_goroutine) {
  serve_beside(1, [](debug::server const& server) {
    http_response const got = ask_once(server.address(), "GET /api/v1/goroutines/2");
    EXPECT_EQ(got.status, 200);
    EXPECT_TRUE(got.has("\"total\":1,")) << got.body;
    EXPECT_TRUE(got.has("\"id\":2,")) << got.body;
    EXPECT_TRUE(got.has("make_waiting")) << got.body;
    EXPECT_EQ(ask_once(server.address(), "GET /api/v1/goroutines/4711").status, 404);
    EXPECT_EQ(ask_once(server.address(), "GET /api/v1/goroutines/0").status, 400);
    EXPECT_EQ(ask_once(server.address(), "GET /api/v1/goroutines/2x").status, 400);
  });
}

TEST(live_view, dumps_equal_stacks_together_and_the_longest_waits) {
  serve_beside(20, [](debug::server const& server) {
    EXPECT_TRUE(ask_once(server.address(), "GET /api/v1/dump").has("\"count\":20,"));
    EXPECT_TRUE(
        ask_once(server.address(), "GET /api/v1/dump?view=leaks&format=text").has("20 goroutines [chan receive"));
    EXPECT_EQ(ask_once(server.address(), "GET /api/v1/dump?view=each").status, 400);
  });
}

TEST(live_view, takes_profiles_for_those_who_post) {
  serve_at(2, [](debug::server const& server) {
    EXPECT_EQ(ask_once(server.address(), "GET /api/v1/profile?kind=goroutines").status, 405);
    http_response const got = ask_once(server.address(), "POST /api/v1/profile?kind=goroutines");
    EXPECT_EQ(got.status, 200);
    EXPECT_NE(got.head.find("filename=\"thrum.pprof\""), std::string::npos);
    EXPECT_TRUE(got.has("goroutine"));
    EXPECT_EQ(ask_once(server.address(), "POST /api/v1/profile?kind=heap").status, 400);
    EXPECT_EQ(ask_once(server.address(), "POST /api/v1/profile?seconds=61").status, 400);
  });
}

TEST(live_view, records_one_trace_at_a_time_and_sends_it) {
  serve_at(2, [](debug::server const& server) {
    EXPECT_EQ(ask_once(server.address(), "GET /api/v1/trace").status, 405);
    http_client first(server.address());
    first.send_request("POST /api/v1/trace?seconds=1");
    EXPECT_TRUE(test::spin_until([] { return trace::is_on(); }));
    EXPECT_EQ(ask_once(server.address(), "POST /api/v1/trace?seconds=1").status, 409);
    http_response const got = first.answer();
    EXPECT_EQ(got.status, 200);
    EXPECT_TRUE(got.body.starts_with("thrum")) << got.body.substr(0, 16);
    EXPECT_FALSE(trace::is_on());
    EXPECT_EQ(first.ask("GET /api/v1/about").status, 200) << "the connection stays open";
  });
}

TEST(live_view, ends_a_trace_when_its_client_goes_away) {
  serve_at(2, [](debug::server const& server) {
    http_client leaves(server.address());
    leaves.send_request("POST /api/v1/trace?seconds=60");
    EXPECT_TRUE(test::spin_until([] { return trace::is_on(); }));
    leaves.close();
    EXPECT_TRUE(test::spin_until([] { return !trace::is_on(); }));
  });
}

TEST(live_view, knows_its_paths_and_methods) {
  serve_at(2, [](debug::server const& server) {
    EXPECT_EQ(ask_once(server.address(), "GET /api/v1/").status, 404);
    EXPECT_EQ(ask_once(server.address(), "GET /index.html").status, 404);
    EXPECT_EQ(ask_once(server.address(), "POST /api/v1/stats").status, 405);
    EXPECT_EQ(ask_once(server.address(), "DELETE /").status, 405);
    http_client head(server.address());
    head.send_request("HEAD /metrics", "Connection: close\r\n");
    std::string const got = head.rest();
    EXPECT_TRUE(got.starts_with("HTTP/1.1 200 OK\r\n")) << got;
    EXPECT_TRUE(got.ends_with("\r\n\r\n")) << got;
    EXPECT_EQ(got.find("Content-Length: 0\r\n"), std::string::npos) << got;
  });
}

TEST(live_view, answers_several_requests_of_a_connection_in_their_order) {
  serve_at(2, [](debug::server const& server) {
    http_client several(server.address());
    for (int i = 0; i < 20; ++i) several.send_request(i % 2 == 0 ? "GET /api/v1/about" : "GET /nothing");
    for (int i = 0; i < 20; ++i) EXPECT_EQ(several.answer().status, i % 2 == 0 ? 200 : 404) << i;
    EXPECT_EQ(several.ask("GET /api/v1/about", "Connection: close\r\n").status, 200);
    EXPECT_TRUE(several.is_closed());
  });
}

}  // namespace
}  // namespace thrum
