// The heap of timers against a sorted model.
#include "core/timer_heap.h"

#include "base/random.h"
#include "core/g.h"
#include "core/timer_record.h"
#include "os/fault.h"
#include "support/scale.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace thrum::rt {
namespace {

// The heap looks only at the times: what an entry names is a number here.
timer_entry entry_at(std::int64_t when_ns, std::uintptr_t number) { return {when_ns, number * 2}; }

void push(timer_heap& heap, timer_entry e) {
  ASSERT_TRUE(heap.make_room(1));
  heap.push(e);
}

TEST(timer_heap, S27_entries_come_out_in_the_order_of_their_times) {
  for (std::uint32_t const count : {1U, 2U, 3U, 4U, 5U, 6U, 20U, 21U, 22U, 1000U}) {
    random_source random(count);
    timer_heap heap;
    std::multimap<std::int64_t, std::uintptr_t> model;
    for (std::uint32_t i = 0; i < count; ++i) {
      auto const when = static_cast<std::int64_t>(random.below(count));  // many are equal
      push(heap, entry_at(when, i));
      model.emplace(when, i * 2);
    }
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    for (std::uint32_t left = count; left > 0; --left) {
      ASSERT_EQ(heap.size(), left);
      ASSERT_EQ(heap.first().when_ns, model.begin()->first);
      timer_entry const e = heap.pop();
      ASSERT_GE(e.when_ns, last);
      last = e.when_ns;
      auto const [from, to] = model.equal_range(e.when_ns);
      auto at = from;
      while (at != to && at->second != e.target) ++at;
      ASSERT_NE(at, to) << "each entry once";
      model.erase(at);
    }
    EXPECT_TRUE(heap.empty());
  }
}

TEST(timer_heap, S27_pushes_and_pops_in_any_mixture_agree_with_a_sorted_model) {
  random_source random(27);
  timer_heap heap;
  std::multimap<std::int64_t, std::uintptr_t> model;
  std::int64_t const rounds = test::scaled(200'000, 2'000);
  for (std::int64_t round = 0; round < rounds; ++round) {
    // Grows for a while, then shrinks for a while, to empty and beyond a few doublings.
    bool const grows = random.below(100) < ((round / 4000) % 2 == 0 ? 70U : 30U);
    if (grows || model.empty()) {
      auto const when = static_cast<std::int64_t>(random.next() >> 20U);
      push(heap, entry_at(when, static_cast<std::uintptr_t>(round)));
      model.emplace(when, static_cast<std::uintptr_t>(round) * 2);
    } else {
      timer_entry const e = heap.pop();
      ASSERT_EQ(e.when_ns, model.begin()->first);
      ASSERT_EQ(e.target, model.begin()->second);  // 44 random bits: no two are equal
      model.erase(model.begin());
    }
    ASSERT_EQ(heap.size(), model.size());
  }
}

TEST(timer_heap, an_entry_leaves_from_any_place_and_the_rest_keep_their_order) {
  random_source random(5);
  for (int round = 0; round < 200; ++round) {
    timer_heap heap;
    std::uint32_t const count = 1 + random.below(100);
    ASSERT_TRUE(heap.make_room(count));
    std::multiset<std::int64_t> model;
    for (std::uint32_t i = 0; i < count; ++i) {
      std::int64_t const when_ns = random.below(50);
      heap.push({when_ns, 8});
      model.insert(when_ns);
    }
    for (std::uint32_t left = count / 2; left > 0; --left) {
      std::uint32_t const place = random.below(heap.size());
      model.erase(model.find(heap.at(place).when_ns));
      heap.remove(place);
      ASSERT_EQ(heap.size(), model.size());
    }
    for (std::int64_t const expected : model) ASSERT_EQ(heap.pop().when_ns, expected);
    EXPECT_TRUE(heap.empty());
  }
}

TEST(timer_heap, S27_a_sweep_takes_out_what_it_is_told_to_and_keeps_the_order_of_the_rest) {
  for (std::uint32_t const count : {0U, 1U, 4U, 5U, 300U, 5000U}) {
    for (std::uint32_t const keep_every : {1U, 2U, 7U, 100'000U}) {
      random_source random(count);
      timer_heap heap;
      std::vector<std::int64_t> kept;
      for (std::uint32_t i = 0; i < count; ++i) {
        auto const when = static_cast<std::int64_t>(random.next() >> 20U);
        push(heap, entry_at(when, i));
        if (i % keep_every == 0) kept.push_back(when);
      }
      std::sort(kept.begin(), kept.end());
      std::uint32_t const removed =
          heap.remove_if([&](timer_entry const& e) { return e.target / 2 % keep_every != 0; });
      EXPECT_EQ(removed, count - kept.size());
      std::vector<std::int64_t> left;
      while (!heap.empty()) left.push_back(heap.pop().when_ns);
      EXPECT_EQ(left, kept);
    }
  }
}

TEST(timer_heap, S27_room_is_made_before_it_is_used_and_a_failure_is_told) {
  timer_heap heap;
  EXPECT_FALSE(heap.has_room(1)) << "a P without timers costs nothing";
  os::inject_fault(os::call::mmap, ENOMEM, 0, os::fault_for_good);
  EXPECT_FALSE(heap.make_room(1));
  os::clear_faults();
  ASSERT_TRUE(heap.make_room(1));
  std::uint32_t count = 0;
  for (; heap.has_room(1); ++count) heap.push(entry_at(1000 - count, count));
  os::inject_fault(os::call::mmap, ENOMEM, 0, os::fault_for_good);
  EXPECT_FALSE(heap.make_room(1));
  EXPECT_EQ(heap.size(), count) << "as it was";
  EXPECT_EQ(heap.pop().target / 2, count - 1);
  EXPECT_TRUE(heap.make_room(1)) << "a place came free";
  os::clear_faults();
  heap.push(entry_at(0, 7));
  ASSERT_TRUE(heap.make_room(100'000));
  EXPECT_TRUE(heap.has_room(100'000));
  EXPECT_EQ(heap.size(), count);
  EXPECT_EQ(heap.pop().target / 2, 7U);
}

// It happens under the lock of the heap. A copy would touch every page of the new memory: thousands, or some huge ones.
TEST(timer_heap, S27_a_large_heap_grows_without_copying_its_entries) {
  constexpr std::uint32_t entries = 1U << 20U;
  timer_heap heap;
  ASSERT_TRUE(heap.make_room(entries));
  for (std::uint32_t i = 0; i < entries; ++i) heap.push(entry_at(i, i));
  auto const page_faults = [] {
    rusage used{};
    ::getrusage(RUSAGE_THREAD, &used);
    return used.ru_minflt + used.ru_majflt;
  };
  long const before = page_faults();
  ASSERT_TRUE(heap.make_room(4 * entries));
  EXPECT_LE(page_faults() - before, 4);
  EXPECT_EQ(heap.size(), entries);
  for (std::uint32_t i = 0; i < 1000; ++i) ASSERT_EQ(heap.pop().target / 2, i);
}

TEST(timer_heap, S27_an_entry_tells_a_sleeper_from_a_record) {
  G sleeper;
  timer_record record;
  EXPECT_FALSE(timer_entry::of(5, sleeper).is_record());
  EXPECT_EQ(&timer_entry::of(5, sleeper).sleeper(), &sleeper);
  EXPECT_TRUE(timer_entry::of(6, record).is_record());
  EXPECT_EQ(&timer_entry::of(6, record).record(), &record);
  EXPECT_EQ(timer_entry::of(6, record).when_ns, 6);
}

TEST(timer_times, TM07_sums_do_not_overflow) {
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(time_after(10, 5), 15);
  EXPECT_EQ(time_after(10, 0), 10);
  EXPECT_EQ(time_after(10, -5), 10);
  EXPECT_EQ(time_after(10, std::numeric_limits<std::int64_t>::min()), 10);
  EXPECT_EQ(time_after(10, largest), latest_ns);
  EXPECT_EQ(time_after(10, largest - 10), latest_ns);
  EXPECT_EQ(time_after(10, largest - 12), largest - 2);
  EXPECT_LT(latest_ns, never_ns);
}

}  // namespace
}  // namespace thrum::rt
