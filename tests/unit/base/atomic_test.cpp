#include "base/atomic.h"

#include "support/scale.h"

#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

TEST(owner_add, adds_and_wraps_around) {
  atomic<std::uint32_t> counter{0xffff'fffe};
  owner_add(counter, 1U);
  EXPECT_EQ(counter.load(relaxed), 0xffff'ffffU);
  owner_add(counter, 2U);
  EXPECT_EQ(counter.load(relaxed), 1U);
}

TEST(owner_add, readers_never_see_it_fall_and_nothing_is_lost) {
  std::int64_t const rounds = test::scaled(1'000'000, 1000);
  atomic<std::uint64_t> counter{0};
  atomic<bool> done{false};
  bool fell = false;
  std::thread reader([&] {
    std::uint64_t before = 0;
    while (!done.load(acquire)) {
      std::uint64_t const now = counter.load(relaxed);
      if (now < before) fell = true;
      before = now;
    }
  });
  for (std::int64_t i = 0; i < rounds; ++i) owner_add(counter, std::uint64_t{0x1'0000'0001});  // both halves change
  done.store(true, release);
  reader.join();
  EXPECT_FALSE(fell);
  EXPECT_EQ(counter.load(relaxed), static_cast<std::uint64_t>(rounds) * 0x1'0000'0001);
}

// The promise that the wake-up protocol stands on: of two threads that each store, fence and look, one sees the other.
// A fence of acquire and release only fails this within some thousand rounds.
TEST(store_load_fence, S13_of_two_that_store_and_look_at_least_one_sees_the_other) {
  std::int64_t const rounds = test::scaled(200'000, 1000);
  atomic<std::int64_t> mine{0};
  atomic<std::int64_t> yours{0};
  atomic<std::int64_t> turn{0};  // both start a round together, as far as the machine lets them
  std::int64_t both_blind = 0;
  atomic<std::int64_t> you_saw{0};
  std::thread other([&] {
    for (std::int64_t round = 1; round <= rounds; ++round) {
      while (turn.load(acquire) != round) cpu_relax();
      yours.store(round, relaxed);
      store_load_fence();
      std::int64_t const seen = mine.load(relaxed);
      you_saw.store(seen == round ? round : -round, release);
    }
  });
  for (std::int64_t round = 1; round <= rounds; ++round) {
    turn.store(round, release);
    mine.store(round, relaxed);
    store_load_fence();
    bool const i_saw = yours.load(relaxed) == round;
    std::int64_t you = 0;
    for (int pauses = 0; you = you_saw.load(acquire), you != round && you != -round; ++pauses) {
      if (pauses > 1000) std::this_thread::yield();
      cpu_relax();
    }
    if (!i_saw && you != round) ++both_blind;
  }
  other.join();
  EXPECT_EQ(both_blind, 0);
}

}  // namespace
}  // namespace thrum::rt
