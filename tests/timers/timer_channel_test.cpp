// timer, ticker and after, as Go's own tests ask of them (TM rows).
#include "base/atomic.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

class timer_rows : public at_every_width {};
THRUM_AT_EVERY_WIDTH(timer_rows);

// --- TM-08 ---

TEST_P(timer_rows, TM08_zero_delay_timers_made_three_ways_are_each_received) {
  run([] {
    std::int64_t const count = scaled(333'334, 1000);  // a million in all
    timer reused(1h);
    for (std::int64_t i = 0; i < count; ++i) {
      EXPECT_TRUE(after(0s).recv().has_value());
      timer fresh(0s);
      EXPECT_TRUE(fresh.c().recv().has_value());
      reused.reset(0s);
      EXPECT_TRUE(reused.c().recv().has_value());
    }
  });
}

TEST_P(timer_rows, TM08_so_are_those_of_one_nanosecond) {
  run([] {
    std::int64_t const count = scaled(3000, 100);
    for (std::int64_t i = 0; i < count; ++i) EXPECT_TRUE(after(1ns).recv().has_value());
  });
}

// --- TM-10 ---

enum class ended_by : bool { stop, reset };

// Of two timers of the same length the one is received. The other's value, if it was sent, is taken back: then true.
void race_of_two(ended_by how) {
  auto const end = [how](timer& t) { return how == ended_by::stop ? t.stop() : t.reset(1h); };
  std::int64_t const tasks = scaled(1000, 20);
  wait_group all;
  for (std::int64_t i = 0; i < tasks; ++i) {
    all.go([end] {
      for (int round = 0; round < 100; ++round) {
        timer one(1ms);
        timer other(1ms);
        timer* left = nullptr;
        select(on_recv(one.c(), [&](auto) { left = &other; }), on_recv(other.c(), [&](auto) { left = &one; }));
        EXPECT_TRUE(end(*left)) << "no goroutine has received from it";
        EXPECT_FALSE(left->c().try_recv()) << "and now none can";
      }
    });
  }
  all.wait();
}

TEST_P(timer_rows, TM10_stop_tells_whether_the_value_was_received) {
  run([] { race_of_two(ended_by::stop); });
}
TEST_P(timer_rows, TM10_reset_tells_whether_the_value_was_received) {
  run([] { race_of_two(ended_by::reset); });
}

TEST_P(timer_rows, TM10_false_after_it_was_received) {
  run([] {
    timer t(1us);
    EXPECT_TRUE(t.c().recv().has_value());
    EXPECT_FALSE(t.stop());
    EXPECT_FALSE(t.reset(1us));
    EXPECT_TRUE(t.c().recv().has_value());
    EXPECT_FALSE(t.reset(1h));
    EXPECT_TRUE(t.reset(1us)) << "it was pending";
    EXPECT_TRUE(t.c().recv().has_value());
  });
}

// --- TM-11 ---

TEST_P(timer_rows, TM11_the_channel_shows_no_buffer_before_and_after_it_went_off) {
  run([] {
    timer t(1ms);
    ticker k(1ms);
    for (int i = 0; i < 3; ++i) {
      for (auto const* const c : {&t.c(), &k.c()}) {
        EXPECT_EQ(c->size(), 0U);
        EXPECT_EQ(c->capacity(), 0U);
      }
      sleep_for(3ms);
    }
    EXPECT_TRUE(t.c().try_recv());
    EXPECT_TRUE(k.c().try_recv());
  });
}

TEST_P(timer_rows, TM11_nothing_of_an_old_setting_is_left_after_stop_or_reset) {
  run([] {
    timer t(1us);
    sleep_for(2ms);  // it has fired, and no goroutine has received the value
    EXPECT_TRUE(t.stop());
    EXPECT_FALSE(t.c().try_recv());
    EXPECT_FALSE(t.stop());

    EXPECT_FALSE(t.reset(1us));
    sleep_for(2ms);
    auto const before = clock::now();
    EXPECT_TRUE(t.reset(2ms));
    auto const due = t.c().recv();
    ASSERT_TRUE(due.has_value());
    EXPECT_GE(*due, before + 2ms) << "of the new setting";

    ticker k(1us);
    sleep_for(2ms);
    k.reset(1h);
    EXPECT_FALSE(k.c().try_recv());
    k.reset(1us);
    sleep_for(2ms);
    k.stop();
    EXPECT_FALSE(k.c().try_recv());
    sleep_for(2ms);
    EXPECT_FALSE(k.c().try_recv());
  });
}

TEST_P(timer_rows, TM11_the_value_is_the_time_when_it_was_due) {
  run([] {
    auto const before = clock::now();
    auto const c = after(1ms);
    auto const armed = clock::now();
    sleep_for(20ms);  // long after that it is received
    auto const due = c.recv();
    ASSERT_TRUE(due.has_value());
    EXPECT_GE(*due, before + 1ms);
    EXPECT_LE(*due, armed + 1ms);
  });
}

TEST_P(timer_rows, TM11_a_ticker_ticks_at_multiples_of_its_period_and_leaves_out_what_is_late) {
  run([] {
    constexpr auto period = 500us;
    auto const before = clock::now();
    ticker k(period);
    auto const armed = clock::now();
    std::vector<clock::time_point> ticks;
    for (clock::time_point const due : k.c()) {
      ticks.push_back(due);
      if (ticks.size() == 5) sleep_for(5 * period);
      if (ticks.size() == 10) break;
    }
    EXPECT_GE(ticks.front(), before + period);
    EXPECT_GE(armed + period + 10s, ticks.front());
    for (std::size_t i = 1; i < ticks.size(); ++i) {
      EXPECT_GT(ticks[i], ticks[i - 1]);
      EXPECT_EQ((ticks[i] - ticks.front()) % period, 0ns);
    }
    EXPECT_GE(ticks.back() - ticks.front(), 12 * period) << "some were left out";
  });
}

// --- TM-13 ---

TEST_P(timer_rows, TM13_resets_and_stops_of_one_timer_from_all_sides) {
  run([] {
    timer t(1h);
    func_timer f = after_func(1h, [] {});
    std::int64_t const count = scaled(1000, 100);
    wait_group all;
    for (int i = 0; i < 8; ++i) {
      all.go([&] {
        for (std::int64_t n = 0; n < count; ++n) {
          t.reset(n % 2 == 0 ? 1us : 50us);
          f.reset(n % 3 == 0 ? 0us : 30us);
        }
      });
      all.go([&] {
        for (std::int64_t n = 0; n < count; ++n) {
          t.stop();
          f.stop();
          if (n % 16 == 0) yield();
        }
      });
    }
    all.wait();
    t.stop();
    EXPECT_FALSE(t.c().try_recv());
  });
}

TEST_P(timer_rows, TM13_many_select_over_one_quick_ticker) {
  run([&] {
    ticker quick(1us);
    std::int64_t const each = scaled(procs() > 8 ? 2000 : 20'000, 20);
    wait_group all;
    for (int i = 0; i < procs(); ++i) {
      all.go([&] {
        for (std::int64_t n = 0; n < each; ++n) {
          int got = 0;
          select(on_recv(quick.c(), [&](auto) { got = 1; }), on_recv(after(1ms), [&](auto) { got = 2; }));
          EXPECT_NE(got, 0);
        }
      });
    }
    all.wait();
  });
}

// --- TM-14 ---

TEST_P(timer_rows, TM14_selects_that_arm_and_drop_a_long_timer_beside_short_sleepers) {
  run([] {
    std::int64_t const rounds = scaled(50'000, 50);
    rt::atomic<bool> done{false};
    wait_group sleepers;
    for (std::int64_t i = scaled(5000, 100); i > 0; --i) {
      sleepers.go([&] {
        while (!done.load(rt::relaxed)) sleep_for(1ms);
      });
    }
    chan<int> ready_at_once(1);
    for (std::int64_t i = 0; i < rounds; ++i) {
      for (int k = 0; k < 20; ++k) {
        ready_at_once.send(k);
        auto const limit = after(5s);
        EXPECT_EQ(select(on_recv(ready_at_once), on_recv(limit)), 0U);
      }
      yield();
    }
    done.store(true, rt::relaxed);
    sleepers.wait();
  });
}

// --- the handles ---

TEST_P(timer_rows, a_timer_that_goes_is_stopped_and_its_channel_stays) {
  run([] {
    std::optional<timer> t(std::in_place, 1h);
    auto const kept = t->c();
    t.reset();
    EXPECT_FALSE(kept.try_recv());
    timer moved_from(1us);
    timer moved_to(std::move(moved_from));
    EXPECT_TRUE(moved_to.c().recv().has_value());
    EXPECT_FALSE(moved_from.stop());
    EXPECT_THROW(moved_from.reset(1s), std::logic_error);
    moved_to = timer(1us);
    EXPECT_TRUE(moved_to.c().recv().has_value());
    EXPECT_THROW(ticker(0s), std::invalid_argument);
    EXPECT_THROW(ticker(-1s), std::invalid_argument);
  });
}

TEST_P(timer_rows, T12_a_global_timer_outlives_its_run) {
  std::optional<timer> t;
  func_timer f;
  rt::atomic<int> calls{0};
  run([&] {
    t.emplace(1h);
    f = after_func(1h, [&] { calls.fetch_add(1, rt::relaxed); });
  });
  EXPECT_FALSE(t->stop()) << "its run is over";
  EXPECT_FALSE(f.stop());
  EXPECT_THROW(t->reset(1us), std::logic_error);
  EXPECT_THROW(f.reset(1us), std::logic_error);
  run([&] {
    EXPECT_FALSE(t->reset(1us));
    EXPECT_TRUE(t->c().recv().has_value());
    EXPECT_FALSE(f.reset(1us));
    EXPECT_TRUE(wait_until([&] { return calls.load(rt::relaxed) == 1; }));
  });
  t.reset();
}

}  // namespace
}  // namespace thrum::test
