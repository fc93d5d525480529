// S25, S39: if a poll finds a few events whose goroutines are quick, the M that found them runs them all, and no other
// M is woken. A slow goroutine among them does not delay the others.
#include "sched/safe_point.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::scaled;
using test::this_sched;

class few_events : public test::at_every_width {};

std::uint64_t put_off() {
  std::uint64_t sum = 0;
  for (auto const& p : this_sched().procs) sum += p->counters.put_off.load(rt::relaxed);
  return sum;
}

// As if sysmon had found out about a mistake. More times than there will ever be batches: none is run alone.
void spread_for(std::uint32_t times) {
  for (auto const& p : this_sched().procs) p->spreads_at_once.store(times, rt::relaxed);
}

// As if goroutines had been quick of late. Else it would depend on the machine, and with a sanitizer none ever is.
void forget_what_was_slow() {
  test::inside_runtime const inside;
  rt::for_each_proc(
      *rt::current_m(),
      [](rt::P& p, void*) noexcept {
        p.spreads_at_once.store(0, rt::relaxed);
        for (int i = 0; i < 64; ++i) {
          p.pace.begin_batch(1, 0);
          p.pace.end_batch(2, 1);
        }
      },
      nullptr);
}

// Goroutines that wait for turns, each at a descriptor of its own. All descriptors refer to the same eventfd counter,
// so one write makes all of them ready at once, and one poll finds them together.
class crowd {
 public:
  crowd(int size, std::function<void()> handle)
      : counter_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC | EFD_SEMAPHORE)), handle_(std::move(handle)) {
    for (int i = 0; i < size; ++i) {
      all_.go([this, mine = std::make_unique<fd>(::dup(counter_))] {
        std::array<char, 8> turn{};
        while (mine->read_some(turn) == turn.size() && !over_) {
          handle_();
          ++handled_;
        }
      });
    }
    size_ = size;
    EXPECT_TRUE(test::wait_until([&] { return test::waiting_for(rt::wait_reason::io) >= size_; }));
  }
  crowd(crowd const&) = delete;
  crowd& operator=(crowd const&) = delete;
  ~crowd() {
    over_ = true;
    give_turns();
    all_.wait();
    ::close(counter_);
  }

  // Returns when as many turns were taken as there are goroutines.
  void round() {
    handled_ = 0;
    give_turns();
    while (handled_ != size_) sleep_for(50us);
  }

  // From any thread.
  void give_turns() const {
    auto const turns = static_cast<std::uint64_t>(size_);
    EXPECT_EQ(::write(counter_, &turns, sizeof turns), static_cast<ssize_t>(sizeof turns));
  }

 private:
  int const counter_;
  int size_ = 0;
  std::function<void()> handle_;
  std::atomic<int> handled_{0};
  std::atomic<bool> over_{false};
  wait_group all_;
};

TEST_P(few_events, S25_quick_ones_come_to_be_run_by_the_m_that_found_them) {
  if (procs() == 1) GTEST_SKIP() << "with one P no other M could be woken";
  run([] {
    crowd quick(4, [] {});
    std::uint64_t const before = put_off();
    int rounds = 0;
    while (put_off() == before) {
      forget_what_was_slow();
      quick.round();
      ASSERT_LT(++rounds, 100'000);
    }
  });
}

// The first goroutine in a round waits for the others, in the way that `wait_for` says.
void a_slow_goroutine_holds_no_other_up(void (*wait_for)(std::atomic<int> const& others, int count)) {
  constexpr int size = 4;
  std::atomic<bool> makes_slow{false};
  std::atomic<int> others{0};
  crowd mixed(size, [&] {
    if (makes_slow.exchange(false)) {
      wait_for(others, size - 1);
    } else {
      ++others;
    }
  });
  // Repeats until, three times, no M was woken for the goroutines that came with a slow one.
  for (int rounds = 0, held = 0; held < 3;) {
    mixed.round();
    forget_what_was_slow();
    others = 0;
    makes_slow = true;
    std::uint64_t const before = put_off();
    mixed.round();
    held += put_off() != before;
    ASSERT_LT(++rounds, 10'000);
  }
}

TEST_P(few_events, S39_one_that_computes_does_not_hold_up_what_came_with_it) {
  if (procs() == 1) GTEST_SKIP() << "there is no other M to run the others";
  run([] {
    a_slow_goroutine_holds_no_other_up([](std::atomic<int> const& others, int count) {
      EXPECT_TRUE(test::spin_until([&] { return others == count; }));
    });
  });
}

TEST_P(few_events, S39_one_that_sleeps_in_the_kernel_does_not_hold_up_what_came_with_it) {
  if (procs() == 1) GTEST_SKIP() << "with one P no other M could be woken";
  run([] {
    a_slow_goroutine_holds_no_other_up([](std::atomic<int> const& others, int count) {
      for (int i = 0; others != count; ++i) {
        ASSERT_LT(i, 3'000);
        timespec const nap{0, 10'000'000};
        ::nanosleep(&nap, nullptr);
      }
    });
  });
}

TEST_P(few_events, S39_one_in_an_announced_call_does_not_hold_up_what_came_with_it) {
  if (procs() == 1) GTEST_SKIP() << "with one P no other M could be woken";
  run([] {
    a_slow_goroutine_holds_no_other_up([](std::atomic<int> const& others, int count) {
      blocking([&] { EXPECT_TRUE(test::spin_until([&] { return others == count; })); });
    });
  });
}

// Naps of 1 ms beside rounds of events: with wake-ups put off there are about as many of them as without.
TEST_P(few_events, S25_timers_beside_a_busy_poller_are_as_punctual_as_without_waiting) {
  run([] {
    std::atomic<bool> done{false};
    std::atomic<std::int64_t> naps{0};
    wait_group sleeper;
    sleeper.go([&] {
      while (!done) {
        sleep_for(1ms);
        ++naps;
      }
    });
    auto const nap_ns = [&](bool spreads) {
      crowd quick(4, [] {});
      for (int i = 0; i < 50; ++i) quick.round();
      std::int64_t const naps_before = naps;
      auto const began = std::chrono::steady_clock::now();
      while (naps - naps_before < scaled(100, 20)) {
        if (spreads) {
          spread_for(1'000'000);
        } else {
          forget_what_was_slow();
        }
        quick.round();
      }
      auto const took = std::chrono::steady_clock::now() - began;
      return took / (naps - naps_before);
    };
    bool is_punctual = false;
    for (int tries = 0; tries < 5 && !is_punctual; ++tries) {
      auto const spread = nap_ns(true);
      auto const alone = nap_ns(false);
      std::printf("a nap of 1 ms: %.2f ms where events are spread, %.2f where they are not\n",
                  static_cast<double>(spread.count()) / 1e6, static_cast<double>(alone.count()) / 1e6);
      is_punctual = alone < 10 * spread + 1ms;
    }
    EXPECT_TRUE(is_punctual);
    done = true;
    sleeper.wait();
  });
}

// The M that slept in the poller until the timer's time leaves the timer to sysmon. It does not come back to it,
// because its goroutine calls `first` and then computes.
void a_far_timer_fires_beside_one_that_computes(void (*first)(int procs), int procs) {
  for (int rounds = 0, left_to_sysmon = 0; left_to_sysmon < 3;) {
    std::atomic<bool> slept{false};
    crowd computing(1, [&] {
      first(procs);
      EXPECT_TRUE(test::spin_until([&] { return slept.load(); }));
    });
    std::uint64_t const before = put_off();
    auto sleeper = spawn([&] {
      sleep_for(100ms);
      slept = true;
    });
    std::thread outside([&computing, &slept, &s = this_sched()] {  // it may be late
      while (!slept && s.idle.count() != s.procs.size()) std::this_thread::yield();
      computing.give_turns();
    });
    sleeper.join();
    outside.join();
    left_to_sysmon += put_off() != before;
    ASSERT_LT(++rounds, 1'000);
  }
}

TEST_P(few_events, S27_a_timer_that_was_far_off_fires_beside_one_that_computes) {
  if (procs() == 1) GTEST_SKIP() << "there is no other M to run the timer";
  run([] { a_far_timer_fires_beside_one_that_computes([](int) {}, procs()); });
}

TEST_P(few_events, S23_S27_a_timer_that_was_far_off_fires_after_its_p_has_gone) {
  if (procs() < 4) GTEST_SKIP() << "there must be another P all the while";
  run([] {
    a_far_timer_fires_beside_one_that_computes(
        [](int at_first) {
          set_max_procs(2);
          set_max_procs(at_first);
        },
        procs());
  });
}

THRUM_AT_EVERY_WIDTH(few_events);

}  // namespace
}  // namespace thrum
