// Time, as Go's own tests ask of it (TM rows): sleeping and functions to be called later.
#include "base/atomic.h"
#include "os/clock.h"
#include "support/gate.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/tries.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

class time_rows : public at_every_width {};
THRUM_AT_EVERY_WIDTH(time_rows);

// --- TM-01 ---

constinit rt::atomic<int> signals_seen{0};

// A timer of the process sends SIGALRM periodically to any thread that takes it. The handler stays for good, because a
// signal may be on its way when the timer is turned off.
class signal_rain {
 public:
  explicit signal_rain(std::chrono::microseconds every) {
    struct sigaction action {};
    action.sa_handler = [](int) { signals_seen.fetch_add(1, rt::relaxed); };
    ::sigaction(SIGALRM, &action, nullptr);
    auto const us = every.count();
    itimerval const period{{us / 1'000'000, us % 1'000'000}, {us / 1'000'000, us % 1'000'000}};
    ::setitimer(ITIMER_REAL, &period, nullptr);
  }
  signal_rain(signal_rain const&) = delete;
  signal_rain& operator=(signal_rain const&) = delete;
  ~signal_rain() {
    itimerval const off{};
    ::setitimer(ITIMER_REAL, &off, nullptr);
  }
};

TEST_P(time_rows, TM01_signals_neither_shorten_nor_prolong_a_sleep) {
  signals_seen.store(0, rt::relaxed);
  run([] {
    signal_rain const rain(1ms);
    for (auto const d : {20ms, 100ms}) {
      auto const before = clock::now();
      sleep_for(d);
      auto const took = clock::now() - before;
      EXPECT_GE(took, d);
      EXPECT_LT(took, d * 10 + 1s);
    }
    auto const before = clock::now();
    EXPECT_TRUE(after(100ms).recv().has_value());
    EXPECT_GE(clock::now() - before, 100ms);
  });
  EXPECT_GT(signals_seen.load(rt::relaxed), 10);
}

// --- TM-02 ---

TEST_P(time_rows, TM02_callbacks_run_in_goroutines_of_their_own) {
  run([] {
    static constexpr int count = 11;
    struct chain {
      rt::atomic<int> started{0};
      wait_group ended;
      void next(int left) {
        ended.add(1);
        after_func(0s, [this, left] {
          started.fetch_add(1, rt::relaxed);
          if (left > 1) next(left - 1);
          EXPECT_TRUE(wait_until([this] { return started.load(rt::relaxed) == count; })) << "one after the other";
          ended.done();
        });
      }
    } links;
    links.next(count);
    ASSERT_TRUE(wait_until([&] { return links.started.load(rt::relaxed) == count; }));
    links.ended.wait();
  });
}

// --- TM-04 ---

// Whether all were stopped before they were due: else it shows little. It waits until long after that.
bool stops_all_in_time(std::chrono::milliseconds delay) {
  rt::atomic<int> fired{0};
  auto const count = [&] { fired.fetch_add(1, rt::release); };
  auto const began = clock::now();
  std::vector<func_timer> many;
  for (int i = 0; i < 101; ++i) many.push_back(after_func(delay, count));
  timer with_channel(delay);
  int stopped = 0;
  int stopped_twice = 0;
  for (func_timer& one : many) {
    stopped += one.stop() ? 1 : 0;
    stopped_twice += one.stop() ? 1 : 0;
  }
  bool const channels_was = with_channel.stop();
  bool const channels_still_was = with_channel.stop();
  bool const in_time = clock::now() < began + delay;
  EXPECT_EQ(stopped_twice, 0);
  EXPECT_FALSE(channels_still_was);
  sleep_until(began + 2 * delay + 10ms);  // they never fire, also when their time has come
  EXPECT_FALSE(with_channel.c().try_recv());
  EXPECT_TRUE(wait_until([&] { return fired.load(rt::acquire) == 101 - stopped; })) << fired.load(rt::relaxed);
  if (in_time) {
    EXPECT_EQ(stopped, 101);
    EXPECT_TRUE(channels_was);
  }
  return in_time;
}

TEST_P(time_rows, TM04_stop_is_true_once_and_a_stopped_timer_never_fires) {
  run([] {
    for (auto delay = 20ms; !stops_all_in_time(delay); delay *= 2) ASSERT_LT(delay, 10s);
  });
}

TEST_P(time_rows, TM04_stop_after_the_call_was_started_is_false) {
  run([] {
    rt::atomic<bool> called{false};
    func_timer one = after_func(1us, [&] { called.store(true, rt::release); });
    ASSERT_TRUE(wait_until([&] { return called.load(rt::acquire); }));
    EXPECT_FALSE(one.stop());
    called.store(false, rt::relaxed);
    EXPECT_FALSE(one.reset(1us)) << "it was not pending";
    ASSERT_TRUE(wait_until([&] { return called.load(rt::acquire); })) << "and calls once more";
  });
}

// --- TM-05 ---

TEST(time_rows_at_four, TM05_sleep_of_zero_beside_stops_of_the_world) {
  run_at(4, [] {
    std::uint64_t const before = read_stats().stopped_for.count;
    wait_group all;
    all.go([] {
      for (int i = 0; i < 100; ++i) set_max_procs(3 + i % 2);
    });
    all.go([] {
      for (int i = 0; i < 100; ++i) sleep_for(0s);
    });
    all.wait();
    EXPECT_GE(read_stats().stopped_for.count - before, 50U);
  });
}

// --- TM-07 ---

TEST_P(time_rows, TM07_the_largest_duration_never_ends_and_disturbs_nothing) {
  run([] {
    constexpr auto largest = std::chrono::nanoseconds::max();
    rt::atomic<int> fired{0};
    go([&] {
      sleep_for(largest);
      fired.fetch_add(1, rt::relaxed);
    });
    func_timer never = after_func(largest, [&] { fired.fetch_add(1, rt::relaxed); });
    timer silent(largest);
    ticker slow(largest);
    auto const before = clock::now();
    EXPECT_TRUE(after(25ms).recv().has_value());
    EXPECT_GE(clock::now() - before, 25ms);
    EXPECT_EQ(fired.load(rt::relaxed), 0);
    EXPECT_FALSE(silent.c().try_recv());
    EXPECT_FALSE(slow.c().try_recv());
    EXPECT_TRUE(never.stop());
  });
}

TEST_P(time_rows, TM07_the_most_negative_duration_is_over) {
  run([] {
    constexpr auto smallest = std::chrono::nanoseconds::min();
    sleep_for(smallest);
    EXPECT_TRUE(after(smallest).recv().has_value());
    wait_group called;
    called.add(1);
    after_func(smallest, [&] { called.done(); });
    called.wait();
  });
}

// --- TM-16, SC-22 ---

// The best of some tries, since the machine may have other things to do.
template <class F>
void expect_soon_at_one_p(F measure) {
  std::chrono::nanoseconds best = std::chrono::nanoseconds::max();
  for (int i = 0; i < 10 && best >= 200ms; ++i) {
    run_at(1, [&] { best = std::min<std::chrono::nanoseconds>(best, measure()); });
  }
  EXPECT_LT(best, 200ms);
}

TEST(time_rows_at_one, TM16_two_that_keep_each_other_runnable_do_not_starve_a_callback) {
  expect_soon_at_one_p([] {
    chan<int> there;
    chan<int> back;
    rt::atomic<bool> done{false};
    go([=] {
      for (int value : there) back.send(value);
    });
    auto const before = clock::now();
    auto fires = clock::time_point();
    after_func(1us, [&] {
      fires = clock::now();
      done.store(true, rt::release);
    });
    while (!done.load(rt::acquire)) {
      there.send(1);
      EXPECT_TRUE(back.recv().has_value());
    }
    there.close();
    return fires - before;
  });
}

TEST(time_rows_at_one, TM16_neither_do_two_that_yield_to_each_other_nor_one_that_yields_alone) {
  for (int const yielders : {1, 2}) {
    expect_soon_at_one_p([yielders] {
      rt::atomic<bool> done{false};
      auto const before = clock::now();
      after_func(1us, [&] { done.store(true, rt::release); });
      wait_group all;
      for (int i = 0; i < yielders; ++i) {
        all.go([&] {
          while (!done.load(rt::acquire)) yield();
        });
      }
      all.wait();
      return clock::now() - before;
    });
  }
}

// Each round returns how long the select took to see a timer of 20 ms. SC-22 allows 200 ms. The machine may be busy
// with other programs.
template <class Round>
void expect_timer_in_time(int procs, Round round) {
  auto const limit = 200ms * slowness();
  auto const measure = [&] {
    std::vector<std::chrono::nanoseconds> took;
    run_at(procs, [&] {
      for (int i = 0; i < 5; ++i) took.push_back(round());
    });
    EXPECT_GE(*std::min_element(took.begin(), took.end()), 20ms);
    return spread_of(took);
  };
  auto const seen = in_one_of(5, measure, [=](spread const& s) { return s.longest <= limit; });
  EXPECT_LE(seen.longest, limit) << seen;
}

TEST_P(time_rows, SC22_a_busy_channel_does_not_hide_a_timer_from_the_select) {
  expect_timer_in_time(procs(), [] {
    chan<int> busy;
    rt::atomic<bool> done{false};
    wait_group all;
    for (int i = 0; i < 2; ++i) {
      all.go([&, i] {
        while (!done.load(rt::relaxed)) select(on_send(busy, i), otherwise([] { yield(); }));
      });
    }
    auto const before = clock::now();
    auto const limit = after(20ms);
    while (!done.load(rt::relaxed)) {
      select(on_recv(busy), on_recv(limit, [&](auto) { done.store(true, rt::relaxed); }));
    }
    auto const took = clock::now() - before;
    all.wait();
    return took;
  });
}

// Go's second form: a system call that returns at once, and a select in which the two keep each other busy.
TEST_P(time_rows, SC22_neither_does_a_call_of_the_kernel_beside_it) {
  expect_timer_in_time(procs(), [] {
    gate kernel;
    chan<int> busy;
    wait_group all;
    std::array<std::chrono::nanoseconds, 2> took{};
    for (std::size_t i = 0; i < took.size(); ++i) {
      all.go([&, i] {
        auto const before = clock::now();
        auto const limit = after(20ms);
        for (bool done = false; !done;) {
          blocking([&] { kernel.read_nothing(); });
          select(on_send(busy, 1), on_recv(busy), on_recv(limit, [&](auto) { done = true; }));
        }
        took[i] = clock::now() - before;
      });
    }
    all.wait();
    EXPECT_GE(std::min(took[0], took[1]), 20ms);
    return std::max(took[0], took[1]);
  });
}

// --- TM-17 ---

// The goroutine that arms the timers never gives its P up, so other Ms must run the timers. The machine may be busy
// with other programs, so the best of ten rounds counts.
TEST(time_rows_busy, TM17_timers_of_a_busy_p_are_run_by_others) {
  for (int const procs : {2, 4}) {
    run_at(procs, [procs] {
      std::int64_t best_ns = std::numeric_limits<std::int64_t>::max();
      for (int round = 0; round < 10; ++round) {
        rt::atomic<int> fired{0};
        rt::atomic<std::int64_t> late_ns{0};
        auto const due = clock::now() + 1ms;
        for (int i = 0; i < procs - 1; ++i) {
          after_func(1ms, [&, due] {
            late_ns.fetch_add((clock::now() - due).count(), rt::relaxed);
            fired.fetch_add(1, rt::release);
          });
        }
        ASSERT_TRUE(spin_until([&] { return fired.load(rt::acquire) == procs - 1; }));
        best_ns = std::min(best_ns, late_ns.load(rt::relaxed) / (procs - 1));
      }
      EXPECT_LT(best_ns, 20'000'000) << "late, on average";
    });
  }
}

TEST(time_rows_busy, TM17_so_are_the_sleepers_of_a_busy_p) {
  run_at(2, [] {
    rt::atomic<int> awake{0};
    constexpr int sleepers = 10;
    for (int i = 0; i < sleepers; ++i) {
      go([&, i] {
        sleep_for(1ms + i * 100us);
        awake.fetch_add(1, rt::release);
      });
    }
    yield();
    EXPECT_TRUE(spin_until([&] { return awake.load(rt::acquire) == sleepers; }));
  });
}

// The function of a call that its run does not live to see is destroyed with the run.
TEST_P(time_rows, T12_a_pending_call_ends_with_its_run) {
  in_run_order const undisturbed;
  std::weak_ptr<int> pending;
  std::weak_ptr<int> due;
  run([&] {
    auto const held = std::make_shared<int>(1);
    auto const also = std::make_shared<int>(2);
    pending = held;
    due = also;
    after_func(1h, [held] {});
    after_func(0s, [also] {});  // stands in a queue, and is perhaps not started
  });
  EXPECT_TRUE(pending.expired());
  EXPECT_TRUE(due.expired());
}

}  // namespace
}  // namespace thrum::test
