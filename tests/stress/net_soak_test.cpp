// Connections that open, talk, are closed and time out at random, beside injected faults: nothing hangs, no answer is wrong, and
// afterwards no descriptor, goroutine or waiter is left.
#include "base/random.h"
#include "os/clock.h"
#include "os/fault.h"
#include "stress/seed.h"
#include "support/descriptors.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/sockets.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include <errno.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;
using rt::os::call;

class net_soak : public at_every_width {};

std::uint32_t at_most(rt::random_source& random, std::uint32_t limit) {
  return static_cast<std::uint32_t>(random.next() % (limit + 1));
}

struct tally {
  std::atomic<std::int64_t> answered{0};
  std::atomic<std::int64_t> failed{0};  // with an error that somebody has caused
  std::atomic<std::int64_t> wrong{0};
};

// One connection's life, as the one who asks. Whatever ends it early is an error that was to be expected.
void live(endpoint const& server, rt::random_source random, tally& counts) {
  std::error_code error;
  auto conn = tcp_conn::dial(server, 5s, error);
  std::uint32_t const rounds = at_most(random, 20);
  for (std::uint32_t round = 0; round < rounds && !error; ++round) {
    std::string said(1 + at_most(random, 3'000), static_cast<char>('a' + round));
    std::string heard(said.size(), '\0');
    switch (at_most(random, 15)) {
      case 0: conn.set_deadline(std::chrono::microseconds(at_most(random, 200)), error); break;
      case 1: conn.close(error); break;
      case 2:
        go([descriptor = ::dup(conn.native_handle())] { fd(descriptor).close(); });
        break;  // another one's end of it
      case 3: conn.shutdown_write(error); break;
      default: conn.set_deadline(fd::no_deadline, error); break;
    }
    conn.write_all(said, error);
    if (error) break;
    std::size_t const n = conn.read_full(heard, error);
    if (error || n < said.size()) break;
    counts.wrong += heard != said;
    ++counts.answered;
  }
  counts.failed += static_cast<bool>(error);
}

void disturb(rt::random_source& random) {
  switch (at_most(random, 5)) {
    case 0: rt::os::inject_fault(call::receive, EINTR, at_most(random, 100), 2); break;
    case 1: rt::os::inject_fault(call::send, EINTR, at_most(random, 100), 2); break;
    case 2: rt::os::inject_fault(call::accept, EMFILE, at_most(random, 10), 1); break;
    case 3: rt::os::inject_fault(call::epoll_wait, EINTR, at_most(random, 10), 2); break;
    case 4: rt::os::inject_fault(call::receive, ECONNRESET, at_most(random, 200), 1); break;
    default: rt::os::inject_fault(call::connect, ECONNREFUSED, at_most(random, 20), 1); break;
  }
}

TEST_P(net_soak, S25_nothing_is_lost_in_a_random_life) {
  std::uint64_t const seed = test_seed();
  std::ptrdiff_t const before = open_sockets();
  auto const for_ns = is_long() ? 600'000'000'000 : scaled(3'000'000'000, 300'000'000);
  tally counts;
  run([&] {
    auto listener = tcp_listener::listen("127.0.0.1:0");
    auto const at = listener.local_endpoint();
    wait_group serving;
    auto acceptor = spawn([&] {
      for (;;) {
        std::error_code error;
        auto conn = listener.accept(error);
        if (error) return;
        serving.go([conn = std::move(conn)]() mutable {
          std::array<char, 1024> bytes{};
          std::error_code ended;
          while (auto const n = conn.read_some(bytes, ended)) {
            conn.write_all({bytes.data(), n}, ended);
            if (ended) return;
          }
        });
      }
    });
    std::int64_t const until_ns = rt::os::monotonic_ns() + for_ns;
    wait_group asking;
    for (std::uint64_t i = 0; i < 32; ++i) {
      asking.go([&, i] {
        for (std::uint64_t life = 0; rt::os::monotonic_ns() < until_ns; ++life) {
          live(at, nth_random(seed, i * 1'000'003 + life), counts);
        }
      });
    }
    rt::random_source random = nth_random(seed, 77);
    while (rt::os::monotonic_ns() < until_ns) {
      disturb(random);
      sleep_for(1ms);
    }
    rt::os::clear_faults();
    asking.wait();
    listener.close();
    acceptor.join();
    serving.wait();
    EXPECT_EQ(this_sched().poll_waiters.load(rt::relaxed), 0);
    EXPECT_TRUE(wait_until([] { return num_goroutines() == 1; }));
  });
  EXPECT_EQ(counts.wrong, 0);
  EXPECT_GT(counts.answered, 0);
  EXPECT_EQ(open_sockets(), before);
}

THRUM_AT_EVERY_WIDTH(net_soak);

}  // namespace
}  // namespace thrum::test
