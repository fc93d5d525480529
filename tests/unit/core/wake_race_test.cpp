// The race of several wakers for one goroutine (S26's select_done): one of them wins, whenever they come.
#include "core/wake_race.h"

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

using outcome = wake_race::outcome;

TEST(wake_race, S26_the_first_waker_wins_and_the_others_lose) {
  wake_race race;
  race.prepare();
  EXPECT_TRUE(race.commit());
  EXPECT_TRUE(race.win());
  EXPECT_FALSE(race.win());
  EXPECT_EQ(race.win_any(), outcome::lost);
  race.over();
}

TEST(wake_race, a_timer_wins_like_any_other_after_the_commit) {
  wake_race race;
  race.prepare();
  EXPECT_TRUE(race.commit());
  EXPECT_EQ(race.win_any(), outcome::won);
  EXPECT_FALSE(race.win());
  EXPECT_EQ(race.win_any(), outcome::lost);
}

TEST(wake_race, a_timer_that_comes_before_the_commit_leaves_the_waking_to_it) {
  wake_race race;
  race.prepare();
  EXPECT_EQ(race.win_any(), outcome::early);
  EXPECT_EQ(race.win_any(), outcome::lost);
  EXPECT_FALSE(race.commit()) << "the commit readies the goroutine itself";
  EXPECT_FALSE(race.win()) << "nobody else may, although it stands in the queues";
}

TEST(wake_race, nobody_wins_while_nobody_waits) {
  wake_race race;
  EXPECT_FALSE(race.win());
  EXPECT_EQ(race.win_any(), outcome::lost);
  race.prepare();
  EXPECT_FALSE(race.win()) << "the queues are locked until the commit: who comes earlier is a stray";
  EXPECT_TRUE(race.commit());
  EXPECT_TRUE(race.win());
  race.over();
  EXPECT_FALSE(race.win());
  EXPECT_EQ(race.win_any(), outcome::lost);
}

TEST(wake_race, it_can_be_run_again) {
  wake_race race;
  for (int i = 0; i < 3; ++i) {
    race.prepare();
    if (i == 1) {
      EXPECT_EQ(race.win_any(), outcome::early);
      EXPECT_FALSE(race.commit());
    } else {
      EXPECT_TRUE(race.commit());
      EXPECT_TRUE(race.win());
    }
    race.over();
  }
}

// Plain threads: a goroutine that commits, a timer and two wakers that come at any time. Exactly one wakes it.
TEST(wake_race, S26_of_all_who_come_at_once_exactly_one_wins) {
  constexpr int rounds = 20'000;
  wake_race race;
  std::atomic<int> round{0};
  std::atomic<int> arrived{0};
  std::atomic<bool> committed{false};
  std::atomic<int> woken{0};
  std::atomic<int> failures{0};
  auto const each_round = [&](auto part) {
    for (int i = 1; i <= rounds; ++i) {
      while (round.load() != i) std::this_thread::yield();
      part();
      ++arrived;
    }
  };
  std::vector<std::thread> others;
  others.emplace_back([&] {  // the timer
    each_round([&] {
      if (race.win_any() == outcome::won) ++woken;
    });
  });
  for (int i = 0; i < 2; ++i) {  // who finds it in a queue, which is locked until the commit
    others.emplace_back([&] {
      each_round([&] {
        while (!committed.load()) std::this_thread::yield();
        if (race.win()) ++woken;
      });
    });
  }
  for (int i = 1; i <= rounds; ++i) {
    race.prepare();
    woken = 0;
    arrived = 0;
    committed = false;
    round = i;
    if (!race.commit()) ++woken;  // by its own commit
    committed = true;
    while (arrived.load() != 3) std::this_thread::yield();
    if (woken.load() != 1) ++failures;
    race.over();
  }
  for (auto& each : others) each.join();
  EXPECT_EQ(failures.load(), 0);
}

}  // namespace
}  // namespace thrum::rt
