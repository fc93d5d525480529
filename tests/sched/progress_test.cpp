// Every goroutine makes progress: goroutines that yield beside goroutines that compute (SC-17), and long chains
// (SC-25).
#include "base/atomic.h"
#include "os/clock.h"
#include "support/baton.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include <thrum/go.h>
#include <thrum/mutex.h>
#include <thrum/runtime.h>
#include <thrum/wait_group.h>

#include <cstdint>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

constexpr std::int64_t ms = 1'000'000;

class progress : public at_every_width {};
THRUM_AT_EVERY_WIDTH(progress);

// SC-17 without a channel: one polls and yields in between; what it polls for is done 10 ms later by another.
TEST_P(progress, SC17_one_that_polls_and_yields_sees_what_another_does) {
  run([&] {
    rt::atomic<bool> done{false};
    go([&] {
      std::int64_t const until_ns = rt::os::monotonic_ns() + 10 * ms;
      while (rt::os::monotonic_ns() < until_ns) yield();
      done.store(true, rt::release);
    });
    std::int64_t const limit_ns = rt::os::monotonic_ns() + 30'000 * ms;
    while (!done.load(rt::acquire) && rt::os::monotonic_ns() < limit_ns) yield();
    ASSERT_TRUE(done.load(rt::acquire)) << "the other one never got on";
  });
}

// Two that yield to each other for ever keep neither a goroutine in the global queue nor one in the run queue from
// running.
TEST_P(progress, SC17_yielders_do_not_keep_others_from_running) {
  run([&] {
    rt::atomic<bool> over{false};
    wait_group yielders;
    for (int i = 0; i < 2 * procs(); ++i) {
      yielders.go([&] {
        while (!over.load(rt::relaxed)) yield();
      });
    }
    constexpr std::int64_t many = 1000;  // more than the run queue: most of them come through the global queue
    wait_group others;
    for (std::int64_t i = 0; i < many; ++i) {
      others.go([] { yield(); });
    }
    others.wait();
    over.store(true, rt::relaxed);
    yielders.wait();
  });
}

// A daisy chain: each goroutine waits for its neighbour on the right and passes the value on, plus one.
TEST_P(progress, SC25_a_chain_of_ten_thousand_passes_one_value_from_end_to_end) {
  std::int64_t const length = rt::with_tsan ? 1'000 : 10'000;
  run([&] {
    struct link {
      baton ready;
      std::int64_t value = 0;
    };
    std::deque<link> links(static_cast<std::size_t>(length) + 1);
    wait_group ended;
    for (std::size_t i = 0; i < static_cast<std::size_t>(length); ++i) {
      ended.go([&, i] {
        links[i + 1].ready.take();
        links[i].value = links[i + 1].value + 1;
        links[i].ready.pass();
      });
    }
    links.back().ready.pass();
    links.front().ready.take();
    EXPECT_EQ(links.front().value, length);
    ended.wait();
    ASSERT_TRUE(wait_until([&] { return num_goroutines() == 1; }));
  });
}

// The same through the public primitives: each waits for a wait_group of its own, and through joins.
TEST_P(progress, SC25_a_chain_of_wait_groups) {
  std::int64_t const length = rt::with_tsan ? 1'000 : 10'000;
  run([&] {
    std::deque<wait_group> gates(static_cast<std::size_t>(length) + 1);
    for (auto& gate : gates) gate.add(1);
    std::int64_t passed = 0;  // handed on with the gates
    for (std::size_t i = 0; i < static_cast<std::size_t>(length); ++i) {
      go([&, i] {
        gates[i + 1].wait();
        ++passed;
        gates[i].done();
      });
    }
    gates.back().done();
    gates.front().wait();
    EXPECT_EQ(passed, length);
    ASSERT_TRUE(wait_until([&] { return num_goroutines() == 1; }));
  });
}

TEST_P(progress, SC25_a_chain_of_joins) {
  std::int64_t const length = rt::with_tsan ? 1'000 : 10'000;
  run([&] {
    join_handle<std::int64_t> before = spawn([] { return std::int64_t{0}; });
    for (std::int64_t i = 0; i < length; ++i) {
      before = spawn([previous = std::move(before)]() mutable { return previous.join() + 1; });
    }
    EXPECT_EQ(before.join(), length);
  });
}

}  // namespace
}  // namespace thrum::test
