// The events of the live view: pictures of the machine, which are valid recordings.
#include "debug_server/http_client.h"
#include "live/http_server.h"
#include "live/machine_picture.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/debug.h>
#include <thrum/thrum.h>

#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using test::http_client;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

TEST(live_events, begin_with_a_recording_and_go_on_with_steps) {
  test::run_at(2, [] {
    debug::server const server = debug::serve("127.0.0.1:0");
    blocking([&] {
      http_client viewer(server.address());
      viewer.send_request("GET /api/v1/events");
      EXPECT_EQ(viewer.answer().status, 200);
      EXPECT_EQ(viewer.event(), "retry: 2000");
      std::string const first = viewer.event();
      EXPECT_TRUE(
          first.starts_with("event: recording\ndata: {\"format\":\"thrum-recording\",\"version\":1,"
                            "\"kind\":\"live\","))
          << first;
      EXPECT_TRUE(has(first, "\"procs\":2,\"queue_size\":256,\"steps\":[{\"t\":")) << first;
      for (int i = 0; i < 3; ++i) {
        std::string const step = viewer.event();
        EXPECT_TRUE(step.starts_with("data: {\"t\":")) << step;
        EXPECT_TRUE(has(step, "\"state\":{\"global\":[")) << step;
      }
    });
  });
}

TEST(live_events, show_another_number_of_ps_as_another_recording) {
  test::run_at(2, [] {
    debug::server const server = debug::serve("127.0.0.1:0");
    http_client viewer(server.address());
    blocking([&] {
      viewer.send_request("GET /api/v1/events");
      EXPECT_EQ(viewer.answer().status, 200);
      while (!viewer.event().starts_with("event: recording")) {
      }
    });
    set_max_procs(3);
    blocking([&] {
      std::string next = viewer.event();
      while (!next.empty() && !next.starts_with("event: recording")) next = viewer.event();
      EXPECT_TRUE(has(next, "\"procs\":3,")) << next;
    });
  });
}

TEST(live_events, reach_twenty_viewers_and_a_slow_one_keeps_none_of_them_waiting) {
  test::run_at(2, [] {
    debug::server const server = debug::serve("127.0.0.1:0");
    blocking([&] {
      http_client slow(server.address());
      slow.send_request("GET /api/v1/events");  // and it reads nothing
      std::vector<http_client> viewers;
      for (int i = 0; i < 20; ++i) {
        viewers.emplace_back(server.address());
        viewers.back().send_request("GET /api/v1/events");
      }
      for (http_client& viewer : viewers) {
        EXPECT_EQ(viewer.answer().status, 200);
        for (int i = 0; i < 4; ++i) EXPECT_NE(viewer.event(), "");
      }
    });
  });
}

TEST(live_events, have_a_bounded_number_of_viewers) {
  test::run_at(2, [] {
    debug::server const server = debug::serve("127.0.0.1:0");
    blocking([&] {
      std::vector<http_client> viewers;
      for (std::size_t i = 0; i < live::http_server::viewers_max; ++i) {
        viewers.emplace_back(server.address());
        EXPECT_EQ(viewers.back().ask("GET /api/v1/events").status, 200);
      }
      test::http_response const refused = test::ask_once(server.address(), "GET /api/v1/events");
      EXPECT_EQ(refused.status, 503);
      EXPECT_TRUE(has(refused.head, "\r\nRetry-After: 1\r\n")) << refused.head;
      EXPECT_EQ(test::ask_once(server.address(), "GET /api/v1/about").status, 200);
    });
  });
}

// On a thread that is no M, while the calling goroutine runs.
live::machine_picture picture_of_this_run() {
  rt::Sched& s = test::this_sched();
  live::machine_picture taken;
  std::atomic<bool> done{false};
  std::thread taker([&] {
    taken = live::take_picture(s);
    done = true;
  });
  EXPECT_TRUE(test::spin_until([&] { return done.load(); }));
  taker.join();
  return taken;
}

TEST(machine_picture, shows_queues_and_waiting_places_and_counts_what_it_leaves_out) {
  constexpr int crowd = 3000;
  test::run_at(1, [] {
    chan<int> const until(0);
    for (int i = 0; i < crowd; ++i) {
      go([until] { static_cast<void>(until.recv()); });
    }
    live::machine_picture const before = picture_of_this_run();
    EXPECT_EQ(before.procs, 1);
    EXPECT_TRUE(has(before.state_json, "\"state\":\"new\"")) << "none has run yet";
    EXPECT_TRUE(has(before.state_json, "\"running\":1,")) << "the main goroutine";
    EXPECT_TRUE(test::yield_until([] { return read_stats().waiting >= crowd; }));
    live::machine_picture const after = picture_of_this_run();
    EXPECT_TRUE(has(after.state_json,
                    "\"id\":\"chan receive\",\"kind\":\"chan\",\"label\":\"chan receive\","
                    "\"count\":3000,\"gs\":["));
    EXPECT_LT(after.state_json.size(), 32U * 1024);
    until.close();
  });
}

}  // namespace
}  // namespace thrum
