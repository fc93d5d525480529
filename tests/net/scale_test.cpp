// The poller and many connections, or a busy machine: rows NE-16, NE-17; S25.
#include "support/scale.h"

#include "net/many_clients.h"
#include "support/busy_machine.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/sockets.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
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

// Empty, or why this process may not have so many descriptors beside its others.
std::string too_many_for_this_machine(std::int64_t descriptors) {
  auto const needed = static_cast<rlim_t>(descriptors + 200);
  rlimit limit{};
  EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  if (limit.rlim_cur >= needed) return {};
  rlimit const raised{needed, std::max(needed, limit.rlim_max)};  // only root may raise the second
  if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) return {};
  return std::to_string(needed) + " descriptors are needed; the limit (ulimit -Hn) is " +
         std::to_string(limit.rlim_max);
}

#define THRUM_SKIP_IF_TOO_MANY(descriptors) \
  if (std::string const why = too_many_for_this_machine(descriptors); !why.empty()) GTEST_SKIP() << why

// Options with which idle threads end soon. On a slow machine extra threads are made, because a thread that is long in
// a system call loses its P to another thread.
options with_few_threads(int procs) { return {.max_procs = procs, .idle_thread_after = 20ms}; }

// Counts the threads of the whole process, including sysmon. `before` is the number of threads before the run,
// including the caller of run.
[[nodiscard]] bool threads_come_down_to(int limit, int before) {
  bool const came = wait_until([&] { return threads_of_this_process() <= before - 1 + limit; });
  EXPECT_LE(num_threads(), limit);
  return came;
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
  auto const wanted = scaled(5'000, 200);
  THRUM_SKIP_IF_TOO_MANY(2 * wanted);
  int const before = threads_of_this_process();
  test::run_with(with_few_threads(procs()), [&] {
    idle_connections all(wanted);
    EXPECT_TRUE(threads_come_down_to(procs() + 8, before));
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
  auto const wanted = scaled(10'000, 200);
  THRUM_SKIP_IF_TOO_MANY(wanted);
  int const before = threads_of_this_process();
  test::many_clients const clients(static_cast<std::size_t>(wanted));
  test::run_with(with_few_threads(2), [&] {
    auto listener = tcp_listener::listen("127.0.0.1:0");
    wait_group served;
    auto accepting = spawn([&] {
      for (std::int64_t i = 0; i < wanted; ++i) {
        served.go([conn = listener.accept()]() mutable { test::answer_all(conn); });
      }
    });
    clients.connect(listener.local_endpoint());
    accepting.join();
    clients.ask();
    EXPECT_TRUE(wait_until([&] { return test::waiting_for(rt::wait_reason::io) == wanted; }));
    EXPECT_TRUE(threads_come_down_to(2 + 8, before));
    // A thread outside of the runtime observes it for a time in which a thread that polled every 10 ms would wake
    // twenty times.
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
    clients.ask();
    clients.close();
    served.wait();
  });
}

// How long a byte that came waited for its reader, beside a goroutine that makes no call.
clock::duration wait_beside_a_loop() {
  auto ab = test::socket_pair();
  std::atomic<clock::time_point> served{};
  auto reader = spawn([&] {
    std::array<char, 4> bytes{};
    EXPECT_EQ(ab.a.read_some(bytes), 1U);
    served = clock::now();
  });
  EXPECT_TRUE(wait_until([] { return test::waiting_for(rt::wait_reason::io) == 1; }));
  clock::time_point written;
  std::thread writer([&written, number = ab.b.native_handle()] {
    written = clock::now();
    EXPECT_EQ(::write(number, "x", 1), 1);
  });
  while (served.load(std::memory_order_relaxed) == clock::time_point()) asm volatile("");
  reader.join();
  writer.join();
  return served.load() - written;
}

// NE-16: sysmon polls if no M does.
TEST(net_poller, NE16_beside_a_loop_without_calls_a_ready_socket_is_served) {
  if (rt::with_tsan) GTEST_SKIP() << "ThreadSanitizer defers signals";
  test::with_slices_of const slices(10ms);
  test::run_at(1, [] {
    // Go: 40 ms. The best of some, since the machine may be busy.
    std::chrono::milliseconds const limit = test::limits_count() ? 60ms : 10s;
    auto best = clock::duration::max();
    for (int tries = 0; tries < 20 && best > limit; ++tries) best = std::min(best, wait_beside_a_loop());
    EXPECT_LE(best, limit);
  });
}

}  // namespace
}  // namespace thrum
