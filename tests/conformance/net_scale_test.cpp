// The poller and many connections, or a busy machine: rows NE-16, NE-17; S25.
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/sockets.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::scaled;
using test::wait_until;

int threads_of_this_process() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Threads:")) return std::stoi(line.substr(8));
  }
  return -1;
}

// How many connections, with both ends in this process, the limits allow.
std::int64_t connections_at_most(std::int64_t wanted) {
  auto const needed = static_cast<rlim_t>(2 * wanted + 200);
  rlimit limit{};
  EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  rlimit const raised{needed, std::max(needed, limit.rlim_max)};  // only root may raise the second
  if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) return wanted;
  limit.rlim_cur = limit.rlim_max;
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  return std::min(wanted, static_cast<std::int64_t>(limit.rlim_cur / 2) - 100);
}

// A goroutine waits at one end of each; `clients` are the others.
struct idle_connections {
  std::vector<tcp_conn> clients;
  wait_group served;

  explicit idle_connections(std::int64_t count) {
    auto listener = tcp_listener::listen("127.0.0.1:0");
    auto const at = listener.local_endpoint();
    auto accepting = spawn([&] {
      for (std::int64_t i = 0; i < count; ++i) {
        served.add(1);
        go([this, conn = listener.accept()]() mutable {
          test::answer_all(conn);
          served.done();
        });
      }
    });
    for (std::int64_t i = 0; i < count; ++i) clients.push_back(tcp_conn::dial(at));
    accepting.join();
    for (auto& conn : clients) test::ask(conn);
    EXPECT_TRUE(wait_until([&] { return test::waiting_for(rt::wait_reason::io) == count; }));
  }
  void close_all() {
    for (auto& conn : clients) conn.close();
    served.wait();
  }
};

class net_scale : public test::at_every_width {};

TEST_P(net_scale, NE17_thousands_of_idle_connections_cost_no_thread_and_S25) {
  auto const wanted = connections_at_most(scaled(5'000, 200));
  int const before = threads_of_this_process();
  run([&] {
    idle_connections all(wanted);
    EXPECT_LE(threads_of_this_process(), before + 2 * procs() + 8);
    test::ask(all.clients.front());
    test::ask(all.clients.back());
    all.close_all();
  });
}

THRUM_AT_EVERY_WIDTH(net_scale);

// Of all threads but the caller's.
std::int64_t cpu_of_others_ns() {
  std::int64_t total_ns = 0;
  for (auto const& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == std::to_string(::gettid())) continue;
    std::ifstream times(task.path() / "schedstat");
    std::int64_t ns = 0;
    times >> ns;
    total_ns += ns;
  }
  return total_ns;
}

TEST(net_idle, S25_ten_thousand_idle_connections_cost_no_thread_and_no_cpu) {
  if (rt::with_tsan) GTEST_SKIP() << "ThreadSanitizer has a thread of its own, which is never at rest";
  auto const wanted = connections_at_most(scaled(10'000, 200));
  int const before = threads_of_this_process();
  test::run_at(2, [&] {
    idle_connections all(wanted);
    EXPECT_LE(threads_of_this_process(), before + 2 * 2 + 8);
    // Somebody from outside looks on, for a time in which a thread that polled every 10 ms would wake twenty times.
    chan<std::int64_t> seen(1);
    std::thread observer([&] {
      std::int64_t least_ns = 1'000'000'000;
      for (int i = 0; i < 20 && least_ns > 0; ++i) {  // until what came before has come to rest
        std::int64_t const begin_ns = cpu_of_others_ns();
        std::this_thread::sleep_for(200ms);
        least_ns = std::min(least_ns, cpu_of_others_ns() - begin_ns);
      }
      seen.send(least_ns);
    });
    EXPECT_EQ(seen.recv(), 0);
    observer.join();
    test::ask(all.clients.back());
    all.close_all();
  });
}

// NE-16: sysmon polls if nobody else does.
TEST(net_poller, NE16_beside_a_loop_without_calls_a_ready_socket_is_served) {
  if (rt::with_tsan) GTEST_SKIP() << "ThreadSanitizer defers signals";
  test::with_slices_of const slices(10ms);
  test::run_at(1, [] {
    auto ab = test::socket_pair();
    fd& a = ab.a;
    fd& b = ab.b;
    std::atomic<bool> stop{false};
    auto reader = spawn([&a, &stop] {
      std::array<char, 4> bytes{};
      EXPECT_EQ(a.read_some(bytes), 1U);
      stop = true;
    });
    EXPECT_TRUE(wait_until([] { return test::waiting_for(rt::wait_reason::io) == 1; }));
    std::thread writer([number = b.native_handle()] { EXPECT_EQ(::write(number, "x", 1), 1); });
    auto const begin = clock::now();
    while (!stop.load(std::memory_order_relaxed)) asm volatile("");
    EXPECT_LT(clock::now() - begin, 10s);  // Go: 40 ms; a machine may be busy
    reader.join();
    writer.join();
  });
}

}  // namespace
}  // namespace thrum
