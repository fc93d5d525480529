// Timers under load: no sleeper is forgotten and no call is lost or made twice, although goroutines set, stop and fire
// timers at once.
#include "base/atomic.h"
#include "base/random.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/seed.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

// Far longer than a sleeper is late on a loaded machine, and far shorter than the time after which another thread would
// help.
constexpr auto lateness_max = 20s;

class timers_stress : public testing::TestWithParam<int> {};
THRUM_AT_WIDTHS(timers_stress, 1, 2, 8);

// A few sleepers on Ps that are idle otherwise. Each of their sleeps ends the watch of one thread and begins that of
// the next, at any moment of the others' watches. No other thread is awake, so a timer that is missed shows as a hang
// or as a far too late wake-up.
TEST_P(timers_stress, S27_no_sleeper_is_overslept) {
  std::uint64_t const seed = test_seed();
  for (int const sleepers : {1, 2, 3, 8}) {
    run_at(GetParam(), [&] {
      std::int64_t const rounds = scaled(is_long() ? 200'000 : 4000, 100) / sleepers;
      rt::atomic<std::int64_t> latest_ns{0};
      wait_group all;
      for (int i = 0; i < sleepers; ++i) {
        all.go([&, i] {
          rt::random_source random = nth_random(seed, static_cast<std::uint64_t>(i));
          for (std::int64_t n = 0; n < rounds; ++n) {
            auto const due = clock::now() + random.below(300) * 1us;
            sleep_until(due);
            std::int64_t const late = (clock::now() - due).count();
            if (late > latest_ns.load(rt::relaxed)) latest_ns.store(late, rt::relaxed);
          }
        });
      }
      all.wait();
      EXPECT_LT(latest_ns.load(rt::relaxed), std::chrono::nanoseconds(lateness_max).count());
    });
  }
}

// The same with a distant timer that is set nearer and farther all the time, by goroutines that stay awake.
TEST_P(timers_stress, S27_a_watch_that_changes_all_the_time_misses_nothing) {
  std::uint64_t const seed = test_seed();
  run_at(GetParam(), [&] {
    rt::atomic<bool> done{false};
    wait_group setters;
    for (int i = 0; i < 2; ++i) {
      setters.go([&, i] {
        rt::random_source random = nth_random(seed, 100 + static_cast<std::uint64_t>(i));
        timer t(1h);
        while (!done.load(rt::relaxed)) {
          t.reset(random.below(2) == 0 ? clock::duration(1h) : clock::duration(random.below(200) * 1us));
          if (random.below(4) == 0) t.stop();
          if (random.below(8) == 0) sleep_for(random.below(100) * 1us);
          yield();
        }
      });
    }
    rt::random_source random(seed);
    for (std::int64_t n = scaled(is_long() ? 100'000 : 3000, 100); n > 0; --n) {
      auto const due = clock::now() + random.below(150) * 1us;
      sleep_until(due);
      ASSERT_LT(clock::now() - due, lateness_max);
    }
    done.store(true, rt::relaxed);
    setters.wait();
  });
}

// Every setting ends in exactly one way: it is called, stopped, or taken over by the next setting.
TEST_P(timers_stress, TM13_every_call_is_made_once_or_stopped_once) {
  std::uint64_t const seed = test_seed();
  run_at(GetParam(), [&] {
    constexpr std::uint32_t count = 16;
    struct one {
      func_timer f;
      rt::atomic<std::int64_t> set{0};  // settings that found it idle
      rt::atomic<std::int64_t> called{0};
      rt::atomic<std::int64_t> stopped{0};
    };
    auto const all = std::make_unique<one[]>(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      one& t = all[i];
      t.f = after_func(1h, [&t] { t.called.fetch_add(1, rt::release); });
      t.set.store(1, rt::relaxed);
    }
    wait_group workers;
    for (int w = 0; w < 8; ++w) {
      workers.go([&, w] {
        rt::random_source random = nth_random(seed, static_cast<std::uint64_t>(w));
        for (std::int64_t n = scaled(is_long() ? 500'000 : 20'000, 500); n > 0; --n) {
          one& t = all[random.below(count)];
          switch (random.below(8)) {
            case 0:
            case 1:
              if (t.f.stop()) t.stopped.fetch_add(1, rt::relaxed);
              break;
            case 2:
              if (random.below(16) == 0) sleep_for(random.below(50) * 1us);
              break;
            default:
              if (!t.f.reset(random.below(60) * 1us)) t.set.fetch_add(1, rt::relaxed);
          }
          if (n % 64 == 0) yield();
        }
      });
    }
    workers.wait();
    for (std::uint32_t i = 0; i < count; ++i) {
      one& t = all[i];
      if (t.f.stop()) t.stopped.fetch_add(1, rt::relaxed);
      EXPECT_TRUE(wait_until([&] {
        return t.set.load(rt::relaxed) == t.called.load(rt::acquire) + t.stopped.load(rt::relaxed);
      })) << "set "
          << t.set.load(rt::relaxed) << ", called " << t.called.load(rt::relaxed) << ", stopped "
          << t.stopped.load(rt::relaxed);
    }
  });
}

// A value is received, or stop or reset takes it back: never both, never neither.
TEST_P(timers_stress, TM10_every_value_is_received_or_taken_back) {
  std::uint64_t const seed = test_seed();
  run_at(GetParam(), [&] {
    timer t(1h);
    rt::atomic<std::int64_t> received{0};
    rt::atomic<bool> done{false};
    wait_group receivers;
    for (int i = 0; i < 3; ++i) {
      receivers.go([&] {
        while (!done.load(rt::relaxed)) {
          select(on_recv(t.c(), [&](auto) { received.fetch_add(1, rt::relaxed); }), on_recv(after(200us)));
        }
      });
    }
    rt::random_source random(seed);
    std::int64_t set = 1;
    std::int64_t taken_back = 0;
    for (std::int64_t n = scaled(is_long() ? 300'000 : 20'000, 500); n > 0; --n) {
      if (random.below(3) == 0) {
        taken_back += t.stop() ? 1 : 0;
      } else {
        taken_back += t.reset(random.below(40) * 1us) ? 1 : 0;
        ++set;
      }
      if (random.below(4) == 0) sleep_for(random.below(40) * 1us);
    }
    taken_back += t.stop() ? 1 : 0;
    done.store(true, rt::relaxed);
    receivers.wait();
    EXPECT_EQ(received.load(rt::relaxed) + taken_back, set);
  });
}

// A million sleepers, all of different lengths, on time.
TEST(many_sleepers, S27_a_million_sleepers_wake_once_each_and_not_before_their_time) {
  run_at(2, [] {
    std::int64_t const count = scaled(1'000'000, 10'000);
    std::uint64_t const seed = test_seed();
    rt::atomic<std::int64_t> awake{0};
    rt::atomic<std::int64_t> early{0};
    wait_group all;
    auto const before = clock::now();
    for (std::int64_t i = 0; i < count; ++i) {
      auto const length = nth_random(seed, static_cast<std::uint64_t>(i)).below(1'000'000) * 1us;
      all.go([&, length] {
        auto const due = clock::now() + length;
        sleep_for(length);
        if (clock::now() < due) early.fetch_add(1, rt::relaxed);
        awake.fetch_add(1, rt::relaxed);
      });
    }
    all.wait();
    EXPECT_EQ(awake.load(rt::relaxed), count);
    EXPECT_EQ(early.load(rt::relaxed), 0);
    EXPECT_LT(clock::now() - before, 60s);
  });
}

}  // namespace
}  // namespace thrum::test
