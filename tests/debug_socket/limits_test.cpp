// The time limits of the server of requests, which are short here.
#include "base/platform.h"
#include "debug/request_server.h"
#include "debug_socket/socket_client.h"
#include "os/private_socket.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace thrum {
namespace {

using test::socket_client;

constexpr std::size_t long_bytes = 16U << 20U;
constexpr std::size_t huge_bytes = 256U << 20U;

// Answers "long" with a text that is larger than the buffers of a socket, "huge" with one that is larger than the
// memory that malloc keeps in reserve, and others with their own line.
// "hold" is answered when `hold` is false.
struct handled {
  std::atomic<bool> hold{true};
  std::atomic<bool> is_held{false};
  std::vector<std::string> lines;  // in the order in which they were handled; of the server's thread
};

class echo : public rt::debug::request_handler {
 public:
  explicit echo(std::shared_ptr<handled> noted) : noted_(std::move(noted)) {}
  rt::debug::answer handle(rt::debug::request const& asked) override {
    noted_->lines.emplace_back(asked.line);
    if (asked.line == "hold") {
      noted_->is_held = true;
      EXPECT_TRUE(test::spin_until([this] { return !noted_->hold; }));
    }
    if (asked.line == "throw") throw std::runtime_error("because of a test");
    if (asked.line == "long") return {.is_error = false, .text = std::string(long_bytes, 'x'), .work = nullptr};
    if (asked.line == "huge") return {.is_error = false, .text = std::string(huge_bytes, 'x'), .work = nullptr};
    return {.is_error = false, .text = std::string(asked.line), .work = nullptr};
  }

 private:
  std::shared_ptr<handled> const noted_;
};

// While it lives, the process can map `bytes` more than it has mapped before.
class memory_limit {
 public:
  explicit memory_limit(std::size_t bytes) {
    long pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    ::getrlimit(RLIMIT_AS, &before_);
    rlimit limited = before_;
    limited.rlim_cur = static_cast<std::size_t>(pages) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + bytes;
    ::setrlimit(RLIMIT_AS, &limited);
  }
  ~memory_limit() { ::setrlimit(RLIMIT_AS, &before_); }
  memory_limit(memory_limit const&) = delete;
  memory_limit& operator=(memory_limit const&) = delete;

 private:
  rlimit before_{};
};

class request_limits : public testing::Test {
 protected:
  template <class F>
  void serve(rt::debug::server_limits const& limits, F body) {
    test::run_at(2, [&] {
      rt::Sched& s = test::this_sched();
      blocking([&] {
        int const listener = rt::os::listen_privately(folder_.socket().c_str(), 16);
        ASSERT_GE(listener, 0);
        int error = 0;
        server_ = rt::debug::request_server::start(s, listener, std::make_unique<echo>(noted_), limits, error);
        ASSERT_NE(server_, nullptr) << error;
        body();
        end(test::wait_limit_ns);
      });
    });
  }
  void end(std::int64_t patience_ns) {
    if (auto* const its = std::exchange(server_, nullptr)) rt::debug::request_server::end(its, patience_ns);
  }
  [[nodiscard]] bool is_held() const {
    return test::spin_until([this] { return noted_->is_held.load(); });
  }
  [[nodiscard]] socket_client client() const { return socket_client(folder_.socket()); }

  test::socket_folder folder_;
  std::shared_ptr<handled> const noted_ = std::make_shared<handled>();
  rt::debug::request_server* server_ = nullptr;
  static constexpr std::int64_t soon_ns = 20'000'000;
};

TEST_F(request_limits, a_request_that_is_not_complete_in_time_ends_the_connection) {
  serve({.request_ns = soon_ns}, [&] {
    socket_client slow = client();
    slow.send("ha");
    EXPECT_EQ(slow.answer(), "error the request took too long\n");
    EXPECT_TRUE(slow.is_closed());
    EXPECT_EQ(client().ask("hi"), "ok 2\nhi");
  });
}

TEST_F(request_limits, a_request_that_came_behind_another_one_has_its_time_after_that_ones_answer) {
  serve({.request_ns = soon_ns}, [&] {
    socket_client both = client();
    both.send("hold\nhi\nha");
    ASSERT_TRUE(is_held());
    std::this_thread::sleep_for(std::chrono::nanoseconds(2 * soon_ns));
    noted_->hold = false;
    EXPECT_EQ(both.answer(), "ok 4\nhold");
    EXPECT_EQ(both.answer(), "ok 2\nhi");
    EXPECT_EQ(both.answer(), "error the request took too long\n");
  });
}

TEST_F(request_limits, a_client_with_many_requests_does_not_keep_another_one_waiting) {
  serve({}, [&] {
    socket_client many = client();  // the server looks at it first
    EXPECT_EQ(many.ask("hi"), "ok 2\nhi");
    std::string requests = "hold\n";
    for (int i = 0; i < 50; ++i) requests += "more\n";
    many.send(requests);
    ASSERT_TRUE(is_held());
    socket_client single = client();
    single.send("single\n");
    noted_->hold = false;
    EXPECT_EQ(single.answer(), "ok 6\nsingle");
    EXPECT_EQ(many.answer(), "ok 4\nhold");
    for (int i = 0; i < 50; ++i) EXPECT_EQ(many.answer(), "ok 4\nmore");
    std::vector<std::string> const& lines = noted_->lines;
    auto const at = std::find(lines.begin(), lines.end(), "single");
    EXPECT_LE(std::count(lines.begin(), at, "more"), 2) << "requests of the other client that were handled before";
  });
}

TEST_F(request_limits, nobody_can_connect_when_a_server_was_left_behind_with_a_request) {
  serve({}, [&] {
    socket_client late = client();
    late.send("hold\n");
    ASSERT_TRUE(is_held());
    end(soon_ns);
    EXPECT_EQ(client().error(), ECONNREFUSED);
    noted_->hold = false;
    EXPECT_TRUE(late.is_closed());
  });
}

TEST_F(request_limits, a_client_without_requests_is_disconnected) {
  serve({.idle_ns = soon_ns}, [&] {
    socket_client idle = client();
    EXPECT_TRUE(idle.is_closed());
    EXPECT_EQ(client().ask("hi"), "ok 2\nhi");
  });
}

TEST_F(request_limits, a_client_that_does_not_take_its_answer_is_disconnected) {
  serve({.sending_ns = soon_ns}, [&] {
    socket_client stuck = client();
    stuck.send("long\n");
    EXPECT_EQ(client().ask("hi"), "ok 2\nhi");  // waits until the memory of the long answer is free
    EXPECT_EQ(stuck.answer(), "");              // the rest of it was never sent
  });
}

TEST_F(request_limits, a_long_answer_comes_whole) {
  serve({}, [&] {
    socket_client patient = client();
    EXPECT_EQ(patient.ask("long").size(), std::string_view("ok 16777216\n").size() + long_bytes);
    EXPECT_EQ(patient.ask("hi"), "ok 2\nhi");
  });
}

// There is no memory for a second one.
TEST_F(request_limits, an_answer_is_in_memory_once) {
  if (rt::with_asan || rt::with_tsan) GTEST_SKIP() << "their memory cannot be limited";
  serve({}, [&] {
    socket_client patient = client();
    // malloc makes its reserve for the server's thread before the limit.
    EXPECT_LT(long_bytes, patient.ask("long").size());
    std::size_t got = 0;
    bool is_refused = false;
    {
      memory_limit const enough_for_one(huge_bytes / 2 * 3);
      patient.send("huge\n");
      std::array<char, 4096> bytes{};
      while (got < huge_bytes && !is_refused) {
        long const count = ::recv(patient.fd(), bytes.data(), bytes.size(), 0);
        if (count <= 0) break;
        is_refused = got == 0 && bytes[0] == 'e';  // "error std::bad_alloc", after which nothing comes
        got += static_cast<std::size_t>(count);
      }
    }
    EXPECT_FALSE(is_refused);
    EXPECT_GE(got, huge_bytes);
  });
}

TEST_F(request_limits, an_exception_of_a_request_is_its_answer) {
  serve({}, [&] { EXPECT_EQ(client().ask("throw"), "error because of a test\n"); });
}

TEST_F(request_limits, the_server_can_be_ended_beside_clients_in_any_state) {
  std::vector<socket_client> clients;
  serve({}, [&] {
    for (char const* const sent : {"half", "hi\n"}) {
      clients.push_back(client());
      clients.back().send(sent);
    }
    EXPECT_EQ(clients[1].answer(), "ok 2\nhi");
    clients.push_back(client());
    clients.back().send("long\n");
  });
  for (socket_client& each : clients) EXPECT_TRUE(each.is_closed());
}

}  // namespace
}  // namespace thrum
