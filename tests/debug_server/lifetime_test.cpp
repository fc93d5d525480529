// The live view beside the ends of runs and programs, and in programs that are stuck.
#include "base/platform.h"
#include "debug_server/http_client.h"
#include "runs/in_child.h"
#include "support/descriptors.h"
#include "support/fatal.h"
#include "support/hogs.h"
#include "support/leak_checks.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/debug.h>
#include <thrum/thrum.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using test::ask_once;
using test::http_client;

TEST(live_view_lifetime, ends_with_the_run_also_in_a_second_one_beside_clients_in_any_state) {
  for (int i = 0; i < 3; ++i) {
    std::vector<http_client> clients;
    endpoint where;
    test::run_at(2, [&] {
      where = debug::serve("127.0.0.1:0").address();
      blocking([&] {
        for (char const* const path : {"GET /api/v1/events", "POST /api/v1/trace?seconds=60", "GET /api/v1/about"}) {
          clients.emplace_back(where);
          clients.back().send_request(path);
        }
        EXPECT_TRUE(test::spin_until([] { return trace::is_on(); }));
        clients.emplace_back(where);
        clients.back().send("GET / HT");
      });
    });
    for (http_client& each : clients) EXPECT_TRUE(each.is_closed());
    EXPECT_EQ(http_client(where).error(), ECONNREFUSED);
  }
}

TEST(live_view_lifetime, may_be_stopped_by_any_copy_and_more_than_once) {
  test::run_at(2, [] {
    debug::server const server = debug::serve("localhost:0");
    debug::server const copy = server;
    EXPECT_EQ(server.url(), "http://" + server.address().to_string() + "/");
    blocking([&] {
      http_client viewer(server.address());
      EXPECT_EQ(viewer.ask("GET /api/v1/events").status, 200);
      copy.stop();
      EXPECT_TRUE(viewer.is_closed());
    });
    server.stop();
    EXPECT_EQ(http_client(server.address()).error(), ECONNREFUSED);
  });
}

TEST(live_view_lifetime, stopping_it_ends_the_trace_that_a_client_has_begun) {
  test::run_at(2, [] {
    debug::server const server = debug::serve("127.0.0.1:0");
    blocking([&] {
      http_client tracer(server.address());
      tracer.send_request("POST /api/v1/trace?seconds=60");
      EXPECT_TRUE(test::spin_until([] { return trace::is_on(); }));
      server.stop();
      EXPECT_FALSE(trace::is_on());
      EXPECT_TRUE(tracer.is_closed());
    });
  });
}

TEST(live_view_lifetime, may_be_stopped_when_its_run_is_over_or_another_one_is_alive) {
  std::vector<debug::server> servers;
  test::run_at(2, [&] { servers.push_back(debug::serve("127.0.0.1:0")); });
  servers[0].stop();
  test::run_at(2, [&] {
    servers.push_back(debug::serve("127.0.0.1:0"));
    servers[0].stop();
    blocking([&] { EXPECT_EQ(ask_once(servers[1].address(), "GET /api/v1/about").status, 200); });
  });
}

TEST(live_view_lifetime, two_servers_are_independent) {
  test::run_at(2, [] {
    debug::server const one = debug::serve("127.0.0.1:0");
    debug::server const other = debug::serve("[::1]:0");
    blocking([&] {
      EXPECT_EQ(ask_once(one.address(), "GET /api/v1/about").status, 200);
      EXPECT_EQ(ask_once(other.address(), "GET /api/v1/about").status, 200);
      one.stop();
      EXPECT_EQ(ask_once(other.address(), "GET /api/v1/about").status, 200);
    });
  });
}

TEST(live_view_lifetime, a_port_in_use_is_told_as_such) {
  test::run_at(2, [] {
    debug::server const server = debug::serve("127.0.0.1:0");
    std::string const address = server.address().to_string();
    try {
      static_cast<void>(debug::serve(address));
      ADD_FAILURE() << "two servers at one port";
    } catch (std::system_error const& e) {
      EXPECT_EQ(e.code(), std::errc::address_in_use);
      EXPECT_NE(std::string(e.what()).find("thrum::debug::serve: listen at " + address), std::string::npos) << e.what();
    }
    EXPECT_THROW(static_cast<void>(debug::serve("nonsense")), std::system_error);
    EXPECT_THROW(static_cast<void>(debug::serve("example.com:80")), std::system_error);
  });
}

TEST(live_view_lifetime, needs_a_runtime_and_serves_an_embedded_one) {
  EXPECT_THROW(static_cast<void>(debug::serve("127.0.0.1:0")), std::logic_error);
  runtime const embedded;
  debug::server const server = debug::serve("127.0.0.1:0");
  EXPECT_EQ(ask_once(server.address(), "GET /api/v1/goroutines").status, 200);
  server.stop();
}

TEST(live_view_lifetime, answers_while_goroutines_spin_on_all_ps) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  std::atomic<bool> stop{false};
  std::atomic<int> spinning{0};
  std::thread outside;
  test::run_at(2, [&] {
    debug::server const server = debug::serve("127.0.0.1:0");
    wait_group all;
    for (int i = 0; i < 3; ++i) {
      all.go([&] {
        ++spinning;
        while (!stop) rt::cpu_relax();
      });
    }
    outside = std::thread([&, where = server.address()] {
      EXPECT_TRUE(test::spin_until([&] { return spinning >= 2; }));
      http_client viewer(where);
      EXPECT_EQ(viewer.ask("GET /api/v1/events").status, 200);
      EXPECT_NE(viewer.event(), "");
      EXPECT_NE(viewer.event().find("\"state\":\"running\""), std::string::npos);
      EXPECT_EQ(ask_once(where, "GET /api/v1/goroutines/2").status, 200);
      EXPECT_EQ(ask_once(where, "GET /metrics").status, 200);
      stop = true;
    });
    all.wait();
  });
  outside.join();
}

TEST(live_view_lifetime, does_not_hide_a_deadlock_also_with_viewers) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  std::string const text = "all goroutines are asleep - deadlock!";
  EXPECT_EXIT(run([] {
                debug::server const server = debug::serve("127.0.0.1:0");
                http_client viewer(server.address());
                blocking([&] {
                  EXPECT_EQ(viewer.ask("GET /api/v1/events").status, 200);
                  EXPECT_NE(viewer.event(), "");
                });
                static_cast<void>(chan<int>(0).recv());
              }),
              testing::ExitedWithCode(2), text);
}

TEST(live_view_lifetime, exit_ends_the_program_beside_clients) {
  EXPECT_EXIT(run([] {
                test::do_not_look_for_leaks();
                debug::server const server = debug::serve("127.0.0.1:0");
                http_client viewer(server.address());
                http_client tracer(server.address());
                blocking([&] {
                  EXPECT_EQ(viewer.ask("GET /api/v1/events").status, 200);
                  tracer.send_request("POST /api/v1/profile?kind=cpu&seconds=60");
                });
                std::exit(5);
              }),
              testing::ExitedWithCode(5), "");
}

TEST(live_view_lifetime, a_child_of_fork_has_no_descriptor_of_it) {
  test::run_at(2, [] {
    int const before = test::open_descriptors();
    debug::server const server = debug::serve("127.0.0.1:0");
    http_client viewer(server.address());
    blocking([&] {
      EXPECT_EQ(viewer.ask("GET /api/v1/events").status, 200);
      EXPECT_NE(viewer.event(), "");
    });
    int const code = in_child([&] { return test::open_descriptors() == before + 1 ? as_expected : 1; });
    EXPECT_EQ(code, as_expected) << "the viewer's own descriptor is left";
    blocking([&] { EXPECT_NE(viewer.event(), "") << "the parent's server goes on"; });
  });
}

}  // namespace
}  // namespace thrum
