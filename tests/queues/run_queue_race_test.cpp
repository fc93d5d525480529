// An owner and its thieves on one run queue, with threads: every entry is found exactly once.
#include "core/run_queue.h"
#include "support/fake_gs.h"
#include "support/scale.h"

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

using test::fake_gs;
using test::number_of;

class run_queue_races : public testing::TestWithParam<std::uint32_t> {};

TEST_P(run_queue_races, S12_SY14_each_goroutine_is_found_exactly_once_by_owner_or_thieves) {
  auto const total = static_cast<std::size_t>(test::scaled(200'000, 2000));
  constexpr int thieves = 9;
  fake_gs gs(total);
  auto const found = std::make_unique<atomic<std::uint8_t>[]>(total);
  auto const note = [&](entry e) { found[static_cast<std::size_t>(number_of(e))].fetch_add(std::uint8_t{1}, relaxed); };
  run_queue victim(GetParam());
  atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < thieves; ++i) {
    threads.emplace_back([&] {
      run_queue mine(GetParam());
      while (!over.load(acquire)) {
        entry const first = mine.steal_half_from(victim);
        if (!first) {
          std::this_thread::yield();
          continue;
        }
        note(first);
        while (entry const e = mine.pop()) note(e);
      }
    });
  }
  // The owner puts in bursts, takes some back, and now and then empties half of a full run queue, as an overflow does.
  std::size_t next = 0;
  while (next < total) {
    if (victim.put(test::push, gs.plain(next)) == run_queue::put_result::done) {
      if (next++ % 3 == 0) {
        if (entry const e = victim.pop()) note(e);
      }
      continue;
    }
    std::uint32_t first = 0;
    if (!victim.claim_older_half(first)) continue;
    for (std::uint32_t i = 0; i < GetParam() / 2; ++i) note(victim.at(first + i));
  }
  while (entry const e = victim.pop()) note(e);
  over.store(true, release);
  for (auto& thread : threads) thread.join();
  while (entry const e = victim.pop()) note(e);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < total; ++i) wrong += found[i].load(relaxed) == 1 ? 0U : 1U;
  EXPECT_EQ(wrong, 0U) << "lost or found twice";
}

INSTANTIATE_TEST_SUITE_P(capacity, run_queue_races, testing::Values(4U, 256U), testing::PrintToStringParamName());

TEST(runnext_race, S12_owner_and_thief_never_both_get_runnext) {
  std::int64_t const rounds = test::scaled(50'000, 2000);
  fake_gs gs(1);
  run_queue queue;
  std::int64_t stolen = 0;
  atomic<bool> over{false};
  std::thread thief([&] {
    while (!over.load(acquire)) {
      entry const seen = queue.peek_next();
      if (seen && queue.steal_next(seen)) {
        ++stolen;
      } else {
        std::this_thread::yield();
      }
    }
  });
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < rounds; ++i) {
    if (queue.swap_next(test::push, gs.plain(0))) FAIL() << "runnext was not emptied";
    if (i % 256 == 0) std::this_thread::yield();
    if (queue.take_next()) ++kept;
  }
  over.store(true, release);
  thief.join();
  EXPECT_EQ(kept + stolen, rounds);
}

}  // namespace
}  // namespace thrum::rt
