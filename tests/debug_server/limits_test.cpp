// Bad clients of the live view harm neither it nor the program. The time limits are short here.
#include "boot/run_gate.h"
#include "debug_server/http_client.h"
#include "live/http_server.h"
#include "os/lock.h"
#include "os/socket.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using live::http_server;
using test::http_client;
using test::http_response;

// While it lives, a request for the figures is begun and not answered, because it needs sched.lock.
class held_up {
 public:
  explicit held_up(rt::Sched& s)
      : holder_([this, &s] {
          rt::os::lock_guard const guard(s.lock);
          is_held_ = true;
          EXPECT_TRUE(test::spin_until([this] { return is_over_.load(); }));
        }) {
    EXPECT_TRUE(test::spin_until([this] { return is_held_.load(); }));
  }
  ~held_up() {
    is_over_ = true;
    holder_.join();
  }
  held_up(held_up const&) = delete;
  held_up& operator=(held_up const&) = delete;

 private:
  std::atomic<bool> is_held_{false};
  std::atomic<bool> is_over_{false};
  std::thread holder_;
};

// Whether the other side's system has all that the client has sent, so that poll finds it there.
bool has_arrived(http_client const& sender) {
  int left = 0;
  return ::ioctl(sender.fd(), SIOCOUTQ, &left) == 0 && left == 0;
}

std::int64_t uptime_in(http_response const& about) {
  std::string_view const name = "\"uptime_ns\":";
  std::size_t const at = about.body.find(name);
  return at == std::string::npos ? -1 : std::strtoll(about.body.c_str() + at + name.size(), nullptr, 10);
}

class live_view_limits : public testing::Test {
 protected:
  template <class F>
  void serve(live::server_limits const& limits, F body) {
    test::run_at(2, [&] {
      rt::Sched& s = test::this_sched();
      blocking([&] {
        where_ = endpoint::parse("127.0.0.1:0");
        sched_ = &s;
        int error = 0;
        live::owned_descriptor listener = listen();
        std::uint32_t bytes = endpoint::capacity();
        ASSERT_EQ(rt::os::local_address(listener.get(), where_.data(), bytes), 0);
        gate_ = std::make_shared<rt::run_gate>();
        server_ = http_server::start(s, gate_, std::move(listener), live::access_rules{}, limits, error);
        ASSERT_NE(server_, nullptr) << error;
        body();
        end(test::wait_limit_ns);
      });
    });
  }
  [[nodiscard]] live::owned_descriptor listen() const {
    live::owned_descriptor listener(rt::os::open_socket(where_.family(), SOCK_STREAM, 0));
    EXPECT_EQ(rt::os::set_option(listener.get(), SOL_SOCKET, SO_REUSEADDR, 1), 0);
    EXPECT_EQ(rt::os::bind(listener.get(), where_.data(), where_.size()), 0);
    EXPECT_EQ(rt::os::listen(listener.get(), 1024), 0);
    return listener;
  }
  void end(std::int64_t patience_ns) {
    if (http_server* const its = std::exchange(server_, nullptr)) rt::debug::server_thread::end(its, patience_ns);
  }
  [[nodiscard]] http_client client() const { return http_client(where_); }
  [[nodiscard]] bool still_answers() const { return test::ask_once(where_, "GET /api/v1/about").status == 200; }

  rt::Sched* sched_ = nullptr;
  std::shared_ptr<rt::run_gate> gate_;
  http_server* server_ = nullptr;
  endpoint where_;
  static constexpr std::int64_t soon_ns = 20'000'000;
};

TEST_F(live_view_limits, malformed_requests_get_an_error_and_the_connection_is_closed) {
  serve({}, [&] {
    for (std::string_view const sent :
         {"GET /\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"}) {
      http_client bad = client();
      bad.send(sent);
      EXPECT_EQ(bad.answer().status, 400) << sent;
      EXPECT_TRUE(bad.is_closed());
    }
    http_client body = client();
    body.send_request("POST /api/v1/trace", "Content-Length: 10\r\n");
    body.send("0123456789GET / HTTP/1.1\r\n\r\n");
    EXPECT_EQ(body.answer().status, 413);
    EXPECT_EQ(body.answer().status, 0) << "what follows is not taken for a request";
    EXPECT_TRUE(still_answers());
  });
}

TEST_F(live_view_limits, huge_heads_are_refused) {
  serve({}, [&] {
    http_client huge = client();
    huge.send("GET / HTTP/1.1\r\nHost: a\r\n");
    std::string const field = "Field: " + std::string(2000, 'x') + "\r\n";
    for (int i = 0; i < 100; ++i) huge.send(field);
    EXPECT_EQ(huge.answer().status, 431);
    EXPECT_TRUE(still_answers());
  });
}

TEST_F(live_view_limits, a_request_that_is_not_complete_in_time_is_refused) {
  serve({.request_ns = soon_ns}, [&] {
    http_client slow = client();
    slow.send("GET /metr");
    EXPECT_EQ(slow.answer().status, 408);
    EXPECT_TRUE(slow.is_closed());
    EXPECT_TRUE(still_answers());
  });
}

TEST_F(live_view_limits, a_request_that_came_behind_another_one_has_its_time_after_that_ones_answer) {
  serve({.request_ns = soon_ns}, [&] {
    http_client both = client();
    both.send(
        "POST /api/v1/profile?kind=blocks&seconds=1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
        "GET /api/v1/about HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(both.answer().status, 200);
    EXPECT_EQ(both.answer().status, 200);
  });
}

TEST_F(live_view_limits, a_client_with_many_requests_does_not_keep_another_one_waiting) {
  constexpr int more = 50;
  serve({}, [&] {
    http_client many = client();  // the server looks at it first
    EXPECT_EQ(many.ask("GET /api/v1/about").status, 200);
    http_client single = client();
    EXPECT_EQ(single.ask("GET /api/v1/about").status, 200);
    std::string requests = "GET /api/v1/stats HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for (int i = 0; i < more; ++i) requests += "GET /api/v1/about HTTP/1.1\r\nHost: localhost\r\n\r\n";
    {
      held_up const first(*sched_);
      many.send(requests);
      EXPECT_TRUE(test::spin_until([&] { return has_arrived(many); }));
      single.send_request("GET /api/v1/about");
      EXPECT_TRUE(test::spin_until([&] { return has_arrived(single); }));
    }
    std::int64_t const at_ns = uptime_in(single.answer());
    EXPECT_GT(at_ns, 0);
    EXPECT_EQ(many.answer().status, 200);
    int earlier = 0;
    for (int i = 0; i < more; ++i) earlier += uptime_in(many.answer()) < at_ns ? 1 : 0;
    EXPECT_LE(earlier, 2) << "answers that the other client got before";
  });
}

TEST_F(live_view_limits, a_client_that_sends_no_more_gets_all_its_answers) {
  serve({}, [&] {
    http_client last = client();
    std::string requests;
    for (int i = 0; i < 20; ++i) requests += "GET /api/v1/about HTTP/1.1\r\nHost: localhost\r\n\r\n";
    last.send(requests);
    EXPECT_TRUE(test::spin_until([&] { return has_arrived(last); }));
    ::shutdown(last.fd(), SHUT_WR);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(last.answer().status, 200) << i;
    EXPECT_TRUE(last.is_closed());
  });
}

TEST_F(live_view_limits, the_address_is_free_when_a_server_was_left_behind_with_a_request) {
  serve({}, [&] {
    http_client late = client();
    EXPECT_EQ(late.ask("GET /api/v1/about").status, 200);
    {
      held_up const by_the_lock(*sched_);
      late.send_request("GET /api/v1/stats");
      EXPECT_TRUE(test::spin_until([&] { return gate_->is_used(); })) << "the request is being answered";
      end(soon_ns);
      EXPECT_EQ(client().error(), ECONNREFUSED);
      live::owned_descriptor const another = listen();
      EXPECT_EQ(client().error(), 0);
    }
    gate_->close();  // the thread that was left behind does not use the run any more
  });
}

TEST_F(live_view_limits, a_late_request_behind_a_HEAD_is_refused_in_words) {
  serve({.request_ns = soon_ns}, [&] {
    http_client slow = client();
    slow.send_request("HEAD /metrics");
    slow.send("GET /metr");
    EXPECT_NE(slow.rest().find("the request took too long"), std::string::npos);
  });
}

// Each byte comes in time, and the whole does not.
TEST_F(live_view_limits, a_request_that_trickles_in_is_refused) {
  serve({.request_ns = soon_ns}, [&] {
    http_client slow = client();
    slow.send("GET /");
    EXPECT_TRUE(test::spin_until([&] {
      slow.send("a");
      std::this_thread::sleep_for(1ms);  // because a head of 8 KiB is refused for its length
      char byte = 0;
      return ::recv(slow.fd(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 1;
    }));
    EXPECT_EQ(slow.answer().status, 408);
  });
}

TEST_F(live_view_limits, a_client_without_requests_is_disconnected) {
  serve({.idle_ns = soon_ns}, [&] {
    http_client idle = client();
    EXPECT_TRUE(idle.is_closed());
    EXPECT_TRUE(still_answers());
  });
}

TEST_F(live_view_limits, a_client_that_does_not_take_its_answers_is_disconnected) {
  serve({.sending_ns = soon_ns}, [&] {
    http_client stuck = client();
    // The answers are not read, so that the buffers of the connection fill up. The server reads no further request.
    for (int i = 0; i < 200; ++i) stuck.send_request("GET /");
    EXPECT_TRUE(still_answers());
    EXPECT_TRUE(test::spin_until([&] {
      return ::send(stuck.fd(), "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && (errno == EPIPE || errno == ECONNRESET);
    }));
    EXPECT_TRUE(still_answers());
  });
}

TEST_F(live_view_limits, connections_that_keep_silent_give_way_to_new_ones) {
  serve({.gives_way_ns = 0}, [&] {
    std::vector<http_client> silent;
    for (std::size_t i = 0; i < 1000; ++i) silent.push_back(client());
    EXPECT_TRUE(still_answers());
  });
}

TEST_F(live_view_limits, of_a_thousand_connections_those_beyond_the_limit_are_refused_at_once) {
  serve({}, [&] {
    std::vector<http_client> all;
    for (int i = 0; i < 1000; ++i) {
      all.push_back(client());
      ASSERT_EQ(all.back().error(), 0) << i;
      all.back().send("GET /");  // and not the rest
    }
    // The server has taken all of them when it has refused so many.
    std::size_t refused = 0;
    for (std::size_t i = http_server::connections_max; i < all.size(); ++i) {
      if (all[i].answer().status == 503) ++refused;
    }
    EXPECT_EQ(refused, all.size() - http_server::connections_max);
    while (all.size() > http_server::connections_max) all.pop_back();
    all[0].send(" HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(all[0].answer().status, 200) << "the others are served as if nothing were";
    all.clear();
    EXPECT_TRUE(test::spin_until([&] { return still_answers(); }));
  });
}

TEST_F(live_view_limits, clients_may_disconnect_at_any_moment) {
  serve({}, [&] {
    std::string const whole = "POST /api/v1/profile?kind=blocks&seconds=60 HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) client().send(whole.substr(0, bytes));
    EXPECT_TRUE(test::spin_until([&] { return still_answers(); }));  // first it refuses some, for lack of room
    // The last one has begun a profile, which its client's going away has ended or is about to end.
    EXPECT_TRUE(test::spin_until(
        [&] { return test::ask_once(where_, "POST /api/v1/profile?kind=blocks&seconds=1").status == 200; }));
  });
}

TEST_F(live_view_limits, the_server_can_be_ended_beside_clients_in_any_state) {
  std::vector<http_client> clients;
  serve({}, [&] {
    for (std::string_view const sent : {"", "GET /", "GET /api/v1/events", "POST /api/v1/trace?seconds=60", "GET /"}) {
      clients.push_back(client());
      sent == "GET /" ? clients.back().send(sent) : clients.back().send_request(sent);
    }
    EXPECT_TRUE(test::spin_until([] { return trace::is_on(); }));
  });
  for (http_client& each : clients) EXPECT_TRUE(each.is_closed());
  EXPECT_FALSE(trace::is_on());
}

}  // namespace
}  // namespace thrum
