#include "base/atomic.h"

#include "support/scale.h"

#include <cstddef>
#include <cstdint>
#include <memory>
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
// Both run through an array of such encounters as fast as they can; with a weaker fence some slots stay unseen by both.
TEST(store_load_fence, S13_of_two_that_store_and_look_at_least_one_sees_the_other) {
  constexpr std::size_t encounters = 20'000;
  struct encounter {
    atomic<int> mine{0};
    atomic<int> yours{0};
    bool i_saw = false;
    bool you_saw = false;
  };
  std::size_t both_blind = 0;
  for (std::int64_t round = 0; round < test::scaled(20); ++round) {
    auto const slots = std::make_unique<encounter[]>(encounters);
    atomic<int> here{0};
    auto const meet = [&] {
      here.fetch_add(1, acq_rel);
      while (here.load(acquire) != 2) cpu_relax();
    };
    std::thread other([&] {
      meet();
      for (std::size_t i = 0; i < encounters; ++i) {
        slots[i].yours.store(1, relaxed);
        store_load_fence();
        slots[i].you_saw = slots[i].mine.load(relaxed) != 0;
      }
    });
    meet();
    for (std::size_t i = 0; i < encounters; ++i) {
      slots[i].mine.store(1, relaxed);
      store_load_fence();
      slots[i].i_saw = slots[i].yours.load(relaxed) != 0;
    }
    other.join();
    for (std::size_t i = 0; i < encounters; ++i) both_blind += !slots[i].i_saw && !slots[i].you_saw ? 1U : 0U;
  }
  EXPECT_EQ(both_blind, 0U);
}

}  // namespace
}  // namespace thrum::rt
