// The race of several wakers for one goroutine (S26's select_done): one of them wins, whenever they come.
#include "core/wake_race.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

TEST(wake_race, S26_the_first_waker_wins_and_the_others_lose) {
  wake_race race;
  race.begin();
  EXPECT_TRUE(race.win());
  EXPECT_FALSE(race.win());
  race.over();
}

TEST(wake_race, no_waker_wins_without_a_waiter) {
  wake_race race;
  EXPECT_FALSE(race.win());
  race.begin();
  race.over();
  EXPECT_FALSE(race.win());
}

TEST(wake_race, it_can_be_run_again) {
  wake_race race;
  for (int i = 0; i < 3; ++i) {
    race.begin();
    EXPECT_TRUE(race.win());
    EXPECT_FALSE(race.win());
    race.over();
  }
}

// Plain threads: three wakers that come at once. Exactly one wakes it.
TEST(wake_race, S26_of_all_wakers_that_come_at_once_exactly_one_wins) {
  constexpr int rounds = 20'000;
  constexpr int wakers = 3;
  constexpr int over = -1;
  auto const until = std::chrono::steady_clock::now() + std::chrono::seconds(10);  // others may need the machine
  wake_race race;
  std::atomic<int> round{0};
  std::atomic<int> arrived{0};
  std::atomic<int> woken{0};
  int failures = 0;
  std::vector<std::thread> others;
  for (int w = 0; w < wakers; ++w) {
    others.emplace_back([&] {
      for (int i = 1;; ++i) {
        while (round.load() != i && round.load() != over) std::this_thread::yield();
        if (round.load() == over) return;
        if (race.win()) ++woken;
        ++arrived;
      }
    });
  }
  for (int i = 1; i <= rounds && std::chrono::steady_clock::now() < until; ++i) {
    race.begin();
    woken = 0;
    arrived = 0;
    round = i;
    while (arrived.load() != wakers) std::this_thread::yield();
    if (woken.load() != 1) ++failures;
    race.over();
  }
  round = over;
  for (auto& each : others) each.join();
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace thrum::rt
