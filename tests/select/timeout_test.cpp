// on_timeout: a select that waits no longer than that.
#include "base/atomic.h"
#include "base/random.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

class select_timeouts : public at_every_width {};
THRUM_AT_EVERY_WIDTH(select_timeouts);

TEST_P(select_timeouts, no_sender_comes) {
  run([] {
    chan<int> silent;
    chan<int> full(1);
    full.send(1);
    bool called = false;
    auto const before = clock::now();
    EXPECT_EQ(select(on_recv(silent), on_send(full, 2), on_timeout(2ms, [&] { called = true; })), 2U);
    EXPECT_GE(clock::now() - before, 2ms);
    EXPECT_TRUE(called);
    EXPECT_EQ(silent.try_send(1), false) << "it waits there no more";
    EXPECT_EQ(timers_pending(), 0U);
  });
}

TEST_P(select_timeouts, a_sender_comes_first) {
  run([] {
    chan<int> c;
    for (int i = 0; i < 100; ++i) {
      go([=] { c.send(i); });
      int got = -1;
      EXPECT_EQ(select(on_timeout(1h), on_recv(c, [&](auto value) { got = *value; })), 1U);
      EXPECT_EQ(got, i);
      EXPECT_EQ(timers_pending(), 0U);
    }
  });
}

TEST_P(select_timeouts, what_is_ready_comes_before_a_time_that_is_over) {
  run([] {
    chan<int> c(1);
    c.send(7);
    EXPECT_EQ(select(on_recv(c), on_timeout(0s)), 0U);
    EXPECT_EQ(select(on_recv(c), on_timeout(0s)), 1U) << "as an otherwise";
    EXPECT_EQ(select(on_recv(c), on_timeout(-1h)), 1U);
  });
}

TEST_P(select_timeouts, without_any_channel_it_is_a_sleep) {
  run([] {
    auto const before = clock::now();
    EXPECT_EQ(select(on_timeout(1ms)), 0U);
    EXPECT_EQ(select(on_recv(chan<int>(nullptr)), on_timeout(1ms)), 1U);
    EXPECT_GE(clock::now() - before, 2ms);
    for (int i = 0; i < 200; ++i) EXPECT_EQ(select(on_timeout(1ns)), 0U);
  });
}

TEST_P(select_timeouts, in_a_select_of_cases_known_at_run_time) {
  run([] {
    chan<int> c;
    bool called = false;
    std::vector<select_case> cases;
    cases.emplace_back(on_recv(c));
    cases.emplace_back(on_timeout(1ms, [&] { called = true; }));
    EXPECT_EQ(select(std::span(cases)), 1U);
    EXPECT_TRUE(called);
    cases.emplace_back(otherwise());
    EXPECT_THROW(select(std::span(cases)), channel_error);
  });
}

// Sender and time limit race for the same goroutine: what was sent is received, once.
TEST_P(select_timeouts, S26_the_race_of_a_sender_and_the_limit_has_one_winner) {
  run([] {
    std::int64_t const rounds = scaled(2000, 100);
    chan<int> c;
    chan<int> other;
    rt::atomic<std::int64_t> received{0};
    rt::atomic<bool> done{false};
    wait_group receivers;
    for (int i = 0; i < 4; ++i) {
      receivers.go([&, i] {
        rt::random_source random(static_cast<std::uint64_t>(i));
        while (!done.load(rt::relaxed)) {
          select(on_recv(c, [&](auto) { received.fetch_add(1, rt::relaxed); }), on_recv(other),
                 on_timeout(random.below(40) * 1us));
        }
      });
    }
    rt::random_source random(26);
    std::int64_t sent = 0;
    for (std::int64_t i = 0; i < rounds; ++i) {
      select(on_send(c, 1, [&] { ++sent; }), on_timeout(random.below(30) * 1us));
    }
    done.store(true, rt::relaxed);
    receivers.wait();
    EXPECT_EQ(received.load(rt::relaxed), sent);
    EXPECT_EQ(timers_pending(), 0U);
  });
}

}  // namespace
}  // namespace thrum::test
