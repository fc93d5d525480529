// Channels and the order in which goroutines run: woken goroutines run first (SC-08, CH-11), goroutines that poll and
// yield (SC-17), long chains and sieves (SC-25).
#include "os/clock.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/tries.h"
#include "support/wait_until.h"
#include <thrum/chan.h>
#include <thrum/go.h>
#include <thrum/runtime.h>
#include <thrum/select.h>
#include <thrum/wait_group.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

constexpr std::int64_t ms = 1'000'000;

std::vector<std::string> order_after(void (*wake)(chan<int> const&), void (*wait)(chan<int> const&)) {
  std::vector<std::string> order;
  run_at(1, [&] {
    chan<int> const c;
    wait_group all;
    all.go([&] {
      wait(c);
      order.emplace_back("woken");
    });
    yield();
    for (int i = 0; i < 3; ++i) {
      all.go([&, i] { order.push_back("g" + std::to_string(i)); });
    }
    wake(c);
    order.emplace_back("waker");
    all.wait();
  });
  return order;
}

// The waker is not blocked; then the woken one goes before all that were spawned earlier.
TEST(channel_order, SC08_a_receiver_woken_by_a_send_runs_before_three_that_were_spawned_earlier) {
  in_run_order const undisturbed;
  std::vector<std::string> const expected{"waker", "woken", "g0", "g1", "g2"};
  EXPECT_EQ(order_after([](auto const& c) { c.send(1); }, [](auto const& c) { (void)c.recv(); }), expected);
}

TEST(channel_order, CH11_so_does_one_that_is_woken_in_any_other_way) {
  in_run_order const undisturbed;
  std::vector<std::string> const expected{"waker", "woken", "g0", "g1", "g2"};
  EXPECT_EQ(order_after([](auto const& c) { (void)c.recv(); }, [](auto const& c) { c.send(1); }), expected);
  EXPECT_EQ(order_after([](auto const& c) { c.close(); }, [](auto const& c) { (void)c.recv(); }), expected);
  EXPECT_EQ(order_after([](auto const& c) { EXPECT_TRUE(c.try_send(1)); }, [](auto const& c) { (void)c.recv(); }),
            expected);
  EXPECT_EQ(order_after([](auto const& c) { select(on_send(c, 1)); },
                        [](auto const& c) { select(on_recv(c), on_send(c, 2)); }),
            expected);
}

// T06: an operation that never waits never switches, also if it wakes other goroutines.
TEST(channel_order, T06_try_forms_and_close_do_not_switch) {
  in_run_order const undisturbed;
  run_at(1, [] {
    chan<int> const a;
    chan<int> const b;
    chan<int> const c;
    int woken = 0;
    wait_group all;
    all.go([&] {
      (void)a.recv();
      ++woken;
    });
    all.go([&] {
      b.send(1);
      ++woken;
    });
    for (int i = 0; i < 5; ++i) {
      all.go([&] {
        (void)c.recv();
        ++woken;
      });
    }
    for (int i = 0; i < 10; ++i) yield();
    EXPECT_TRUE(a.try_send(1));
    EXPECT_TRUE(b.try_recv());
    c.close();
    EXPECT_FALSE(a.try_send(1));
    EXPECT_EQ(woken, 0);
    all.wait();
    EXPECT_EQ(woken, 7);
  });
}

class channel_progress : public at_every_width {};
THRUM_AT_EVERY_WIDTH(channel_progress);

// A second goroutine sends 10 ms after the first began to poll, which answers how long that took.
std::chrono::nanoseconds poll_until_another_sends() {
  std::int64_t const since_ns = rt::os::monotonic_ns();
  chan<int> const c;
  go([=] {
    while (rt::os::monotonic_ns() < since_ns + 10 * ms) yield();
    c.send(1);
  });
  std::int64_t const limit_ns = since_ns + wait_limit_ns;
  while (!c.try_recv().value.has_value()) {
    yield();
    if (rt::os::monotonic_ns() < limit_ns) continue;
    ADD_FAILURE() << "the other one never got on";
    break;
  }
  return std::chrono::nanoseconds(rt::os::monotonic_ns() - since_ns);
}

// SC-17 allows 100 ms; the machine may have other things to do.
template <class Body>
void expect_sends_to_be_seen_in_time(int procs, Body body) {
  auto const limit = std::chrono::milliseconds(100) * slowness();
  auto const measure = [&] {
    std::vector<std::chrono::nanoseconds> took;
    run_at(procs, [&] { body(took); });
    return spread_of(took);
  };
  auto const seen = in_one_of(5, measure, [=](spread const& s) { return s.longest <= limit; });
  EXPECT_LE(seen.longest, limit) << seen;
}

TEST_P(channel_progress, SC17_one_that_polls_a_channel_and_yields_sees_a_send) {
  expect_sends_to_be_seen_in_time(procs(), [](auto& took) {
    for (int i = 0; i < 5; ++i) took.push_back(poll_until_another_sends());
  });
}

// Each of its yields gives the P away, and has to get it back on this very thread.
TEST_P(channel_progress, SC17_also_when_it_is_locked_to_its_thread) {
  expect_sends_to_be_seen_in_time(procs(), [](auto& took) {
    os_thread_lock const lock;
    for (int i = 0; i < 3; ++i) took.push_back(poll_until_another_sends());
    spawn([&] {
      os_thread_lock const also;  // and on another thread than main's
      for (int i = 0; i < 3; ++i) took.push_back(poll_until_another_sends());
    }).join();
  });
}

// Go's goroutines.go: each forwards what it gets from the right.
TEST_P(channel_progress, SC25_a_daisy_chain_of_ten_thousand) {
  run([] {
    int const length = rt::with_tsan ? 1'000 : 10'000;
    chan<int> const leftmost;
    chan<int> left = leftmost;
    for (int i = 0; i < length; ++i) {
      chan<int> const right;
      go([=] { left.send(*right.recv() + 1); });
      left = right;
    }
    go([=] { left.send(0); });
    EXPECT_EQ(leftmost.recv(), length);
    ASSERT_TRUE(wait_until([] { return num_goroutines() == 1; })) << "all of them end";
  });
}

// Go's sieve1.go: a filter for each prime, put between the numbers and the reader.
TEST_P(channel_progress, SC25_the_prime_sieve) {
  run([] {
    chan<int> const stop;
    wait_group all;
    chan<int> numbers;
    all.go([=] {
      for (int i = 2; select(on_send(numbers, i), on_recv(stop)) == 0; ++i) {
      }
    });
    std::vector<int> primes;
    while (primes.size() < 25) {
      int const prime = *numbers.recv();
      primes.push_back(prime);
      chan<int> const filtered;
      all.go([=, from = numbers] {
        for (;;) {
          int next = 0;
          if (select(on_recv(from, [&](std::optional<int> value) { next = *value; }), on_recv(stop)) == 1) return;
          if (next % prime != 0 && select(on_send(filtered, next), on_recv(stop)) == 1) return;
        }
      });
      numbers = filtered;
    }
    stop.close();
    all.wait();
    EXPECT_EQ(primes, (std::vector<int>{2,  3,  5,  7,  11, 13, 17, 19, 23, 29, 31, 37, 41,
                                        43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97}));
  });
}

// In the spirit of Go's powser1.go: a power series is a channel of its coefficients. 1/(1-x) is 1 + x * 1/(1-x), fed
// back to itself. Its square has the coefficients 1, 2, 3, ...
TEST_P(channel_progress, SC25_power_series_that_feed_back) {
  run([] {
    chan<bool> const stop;
    wait_group all;
    auto const put = [=](chan<long> const& to, long value) { return select(on_send(to, value), on_recv(stop)) == 0; };
    auto const get = [=](chan<long> const& from, long& value) {
      return select(on_recv(from, [&](std::optional<long> v) { value = *v; }), on_recv(stop)) == 0;
    };
    auto const split = [&](chan<long> const& from, chan<long> const& a, chan<long> const& b) {
      all.go([=] {
        for (long value = 0; get(from, value) && put(a, value) && put(b, value);) {
        }
      });
    };
    // 1 + x * tail
    auto const monic = [&](chan<long> const& tail, chan<long> const& to) {
      all.go([=] {
        if (!put(to, 1)) return;
        for (long value = 0; get(tail, value) && put(to, value);) {
        }
      });
    };
    chan<long> const ones(1);
    chan<long> const back(1);
    chan<long> const geometric(1);
    monic(back, ones);
    split(ones, back, geometric);
    // The square, by convolution of what has come so far.
    chan<long> const square;
    all.go([=] {
      std::vector<long> seen;
      for (long value = 0; get(geometric, value);) {
        seen.push_back(value);
        long sum = 0;
        for (std::size_t i = 0; i < seen.size(); ++i) sum += seen[i] * seen[seen.size() - 1 - i];
        if (!put(square, sum)) return;
      }
    });
    for (long i = 1; i <= 50; ++i) EXPECT_EQ(square.recv(), i);
    stop.close();
    all.wait();
  });
}

}  // namespace
}  // namespace thrum::test
