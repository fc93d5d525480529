// The live view of a program with 100,000 goroutines that are ready to run: answers have a bounded size, and what is
// done for them under a lock of the scheduler has a bounded length.
#include "base/platform.h"
#include "core/world_stop.h"
#include "debug_server/http_client.h"
#include "live/machine_picture.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include <thrum/debug.h>
#include <thrum/thrum.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using test::ask_once;
using test::http_client;
using test::http_response;

constexpr int crowd = rt::with_asan || rt::with_tsan ? 10'000 : 100'000;

// The number behind this name in JSON, or -1.
long number_of(std::string_view name, std::string const& json) {
  std::string const member = '"' + std::string(name) + "\":";
  std::size_t const at = json.find(member);
  return at == std::string::npos ? -1 : std::strtol(json.c_str() + at + member.size(), nullptr, 10);
}

// Calls body(server) on a thread from outside, while the only P has a goroutine that does not leave it by itself, and
// the others are in the global queue.
template <class F>
void beside_a_runnable_crowd(F body) {
  std::atomic<bool> done{false};
  std::thread outside;
  test::run_with({.max_procs = 1, .async_preemption = false}, [&] {
    debug::server const server = debug::serve("127.0.0.1:0");
    rt::Sched& s = test::this_sched();
    rt::g_list all;
    for (int i = 0; i < crowd; ++i) {
      all.push_back(test::make_unqueued([&done] {
        while (!done) yield();
      }));
    }
    test::inject_all(all, test::inject_from::nowhere);
    outside = std::thread([&] {
      body(server, s);
      done = true;
    });
    while (!done) rt::cpu_relax();
  });
  outside.join();
}

TEST(world_stop, counts_more_dumps_at_once_than_a_byte_can) {
  constexpr int many = 256;
  rt::world_stop world;
  {
    std::deque<rt::world_stop::dump> dumps;
    for (int i = 0; i < many; ++i) {
      dumps.emplace_back(world);
      world.outsider_waits();
    }
    EXPECT_TRUE(world.is_dumped());
    EXPECT_TRUE(world.is_for_outsiders());
  }
  for (int i = 0; i < many; ++i) world.outsider_waits_no_more();
  EXPECT_FALSE(world.is_dumped());
  EXPECT_FALSE(world.is_for_outsiders());
}

TEST(live_view_of_a_crowd, a_picture_visits_a_bounded_number_of_goroutines_under_a_lock) {
  beside_a_runnable_crowd([](debug::server const&, rt::Sched& s) {
    live::machine_picture const taken = live::take_picture(s);
    EXPECT_LE(taken.visits_per_hold, live::visits_per_hold_max);
    EXPECT_GT(taken.visits_per_hold, 1U);
    EXPECT_GE(number_of("global_count", taken.state_json), crowd / 2);
    EXPECT_LT(taken.state_json.size(), 64U * 1024);
  });
}

TEST(live_view_of_a_crowd, the_answers_have_a_bounded_size) {
  beside_a_runnable_crowd([](debug::server const& server, rt::Sched&) {
    http_client viewer(server.address());
    EXPECT_EQ(viewer.ask("GET /api/v1/events").status, 200);
    EXPECT_EQ(viewer.event(), "retry: 2000");
    std::string const event = viewer.event();
    EXPECT_GE(number_of("global_count", event), crowd / 2) << event;
    EXPECT_LT(event.size(), 64U * 1024);
    for (std::string_view const path : {"GET /metrics", "GET /api/v1/stats", "GET /api/v1/goroutines?group=place"}) {
      http_response const got = ask_once(server.address(), path);
      EXPECT_EQ(got.status, 200) << path;
      EXPECT_LT(got.body.size(), 64U * 1024) << path;
    }
    http_response const some = ask_once(server.address(), "GET /api/v1/goroutines?limit=1000&offset=1000");
    EXPECT_EQ(number_of("total", some.body), crowd + 1) << some.body.substr(0, 200);
    EXPECT_LT(some.body.size(), 4000U * 1024);  // the names of places may be long
    http_response const one = ask_once(server.address(), "GET /api/v1/goroutines/1000");
    EXPECT_TRUE(one.has("\"total\":1,") && one.has("\"id\":1000,")) << one.body;
  });
}

}  // namespace
}  // namespace thrum
