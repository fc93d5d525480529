#include "support/fatal.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using test::run_at;
using test::scaled;

class barriers : public test::at_every_width {};

// In every round each writes its own place, and reads all places of the round before: plain, ordered by the barrier.
TEST_P(barriers, rounds_do_not_overlap) {
  constexpr int parties = 6;
  std::int64_t const rounds = scaled(2000, 50);
  std::atomic<int> wrong{0};
  std::int64_t completions = 0;  // not atomic: no other party runs during the completion
  run([&] {
    std::int64_t written[2][parties] = {};
    barrier step(parties, [&]() noexcept { ++completions; });
    wait_group all;
    for (int i = 0; i < parties; ++i) {
      all.go([&, i] {
        for (std::int64_t round = 0; round < rounds; ++round) {
          written[round % 2][i] = round;
          if ((round + i) % 16 == 0) thrum::yield();
          step.arrive_and_wait();
          if (completions != 2 * round + 1) ++wrong;
          for (std::int64_t const value : written[round % 2]) {
            if (value != round) ++wrong;
          }
          step.arrive_and_wait();  // all have read
        }
      });
    }
    all.wait();
  });
  EXPECT_EQ(wrong.load(), 0);
}

TEST_P(barriers, the_completion_runs_once_a_phase_after_all_have_come_and_before_any_is_let_go) {
  run([&] {
    constexpr int parties = 5;
    std::atomic<int> arrived{0};
    std::atomic<int> let_go{0};
    std::vector<std::pair<int, int>> seen;
    barrier step(parties, [&]() noexcept { seen.emplace_back(arrived, let_go); });
    wait_group all;
    for (int i = 0; i < parties; ++i) {
      all.go([&] {
        for (int round = 0; round < 10; ++round) {
          ++arrived;
          step.arrive_and_wait();
          ++let_go;
          step.arrive_and_wait();
        }
      });
    }
    all.wait();
    ASSERT_EQ(seen.size(), 20U);
    for (int round = 0; round < 10; ++round) {
      auto const at = static_cast<std::size_t>(2 * round);
      EXPECT_EQ(seen[at], (std::pair(parties * (round + 1), parties * round)));
      EXPECT_EQ(seen[at + 1].second, parties * (round + 1));
    }
  });
}

TEST_P(barriers, arrive_gives_a_token_and_wait_takes_it) {
  run([&] {
    barrier step(2);
    auto mine = step.arrive();
    std::atomic<bool> waits{false};
    std::atomic<bool> passed{false};
    wait_group all;
    all.go([&] {
      waits = true;
      step.wait(std::move(mine));
      passed = true;
    });
    ASSERT_TRUE(test::wait_until([&] { return waits && test::goroutine_is_parked_on(&step); }));
    EXPECT_FALSE(passed);
    auto theirs = step.arrive();  // does not wait, and lets the other go
    all.wait();
    step.wait(std::move(theirs));  // its phase is over
    auto next = step.arrive(2);
    step.wait(std::move(next));
  });
}

TEST_P(barriers, one_that_drops_out_is_not_expected_again) {
  run([&] {
    constexpr int parties = 5;
    std::atomic<int> phases{0};
    barrier step(parties, [&]() noexcept { ++phases; });
    wait_group all;
    for (int i = 0; i < parties; ++i) {
      all.go([&, i] {
        for (int round = 0; round < i; ++round) step.arrive_and_wait();
        step.arrive_and_drop();
      });
    }
    all.wait();
    EXPECT_EQ(phases.load(), parties);
  });
}

TEST_P(barriers, T14_the_goroutine_that_is_let_go_last_may_destroy_it_at_once) {
  struct shared {
    barrier<> step{3};
    std::atomic<int> inside{3};
  };
  run([&] {
    for (std::int64_t round = 0; round < scaled(20'000, 300); ++round) {
      auto* const object = new shared;
      auto const meet = [object, round] {
        if (round % 4 == 0) thrum::yield();
        object->step.arrive_and_wait();
        if (--object->inside == 0) delete object;
      };
      wait_group all;
      all.go(meet);
      all.go(meet);
      meet();
      all.wait();
    }
  });
}

// No goroutine waits for the one that arrives last. Only its arrival lets the goroutine continue that destroys the
// barrier.
TEST_P(barriers, T14_the_goroutine_that_came_last_does_not_touch_it_afterwards) {
  run([&] {
    for (std::int64_t round = 0; round < scaled(20'000, 300); ++round) {
      auto step = std::make_unique<barrier<>>(2);
      thrum::go([&its = *step, round] {
        if (round % 2 == 0) thrum::yield();
        static_cast<void>(its.arrive());
      });
      step->arrive_and_wait();
      step.reset();
    }
  });
}

THRUM_AT_EVERY_WIDTH(barriers);

TEST(barrier_outside, without_a_run_it_counts_and_says_why_it_cannot_wait) {
  int phases = 0;
  barrier step(2, [&]() noexcept { ++phases; });
  auto token = step.arrive();
  EXPECT_THROW(step.wait(std::move(token)), std::logic_error);
  auto last = step.arrive();
  step.wait(std::move(last));
  EXPECT_EQ(phases, 1);
}

TEST(barrier_outside, T12_waiters_of_an_earlier_run_need_no_wake_up) {
  test::without_slices const uninterrupted;
  auto const step = std::make_unique<barrier<>>(2);
  run_at(1, [&] {
    thrum::go([&] { step->arrive_and_wait(); });
    thrum::yield();
    EXPECT_TRUE(test::goroutine_is_parked_on(step.get()));
  });
  auto token = step->arrive();
  step->wait(std::move(token));
  run_at(1, [&] {
    wait_group all;
    all.go([&] { step->arrive_and_wait(); });
    step->arrive_and_wait();
    all.wait();
  });
}

class barrier_misuse : public test::fatal_test {};

TEST_F(barrier_misuse, SY_02_more_arrivals_than_expected_are_fatal) {
  EXPECT_FATAL(static_cast<void>(barrier<>(1).arrive(2)),
               "thrum: fatal error: barrier::arrive\\(2\\): the argument is out of range");
  EXPECT_FATAL(static_cast<void>(barrier<>(1).arrive(0)),
               "thrum: fatal error: barrier::arrive\\(0\\): the argument is out of range");
  EXPECT_FATAL(barrier<>(0).arrive_and_drop(),
               "thrum: fatal error: barrier::arrive_and_drop\\(1\\): the argument is out of range");
  EXPECT_FATAL(barrier<>(-1), "barrier\\(-1\\): the argument is out of range");
}

}  // namespace
}  // namespace thrum
