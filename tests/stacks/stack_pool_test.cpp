#include "stack/stack_pool.h"

#include "base/limits.h"
#include "base/random.h"
#include "os/memory.h"
#include "stacks/mappings.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#if THRUM_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace thrum::rt {
namespace {

using test::mappings;
using test::resident_pages;

// Touches a stack as frames would, from the top down.
void dirty(stack& used, std::size_t bytes) { std::memset(used.top - bytes, 0x5a, bytes); }

std::vector<stack*> take_all(stack_pool& pool, std::size_t count) {
  std::vector<stack*> taken;
  for (std::size_t i = 0; i < count; ++i) taken.push_back(pool.allocate(pool.default_size()));
  return taken;
}

// The descriptor of a stack is in the stack's own memory. A test that looks at a stack that was given back must not
// touch it, so it uses copies.
std::vector<stack> copies_of(std::vector<stack*> const& stacks) {
  std::vector<stack> copies;
  for (stack* const each : stacks) copies.push_back(*each);
  return copies;
}

TEST(stack_pool, S29_new_stack_costs_one_page) {
  stack_pool pool(stack_size_default);
  for (int i = 0; i < 40; ++i) {
    stack* const fresh = pool.allocate(stack_size_default);
    ASSERT_NE(fresh, nullptr);
    EXPECT_EQ(resident_pages(*fresh), 1U);
    dirty(*fresh, 2048);  // a typical first frame still fits that page
    EXPECT_EQ(resident_pages(*fresh), 1U);
  }
}

TEST(stack_pool, S29_T10_guard_begins_right_below_low) {
  stack_pool pool(stack_size_default);
  for (int i = 0; i < 20; ++i) {
    stack const* const fresh = pool.allocate(stack_size_default);
    ASSERT_NE(fresh, nullptr);
    EXPECT_TRUE(os::readable(fresh->low));
    EXPECT_TRUE(os::readable(fresh->top - 1));
    EXPECT_FALSE(os::readable(fresh->low - 1));
    EXPECT_FALSE(os::readable(fresh->low - 64 * 1024));
    EXPECT_FALSE(os::readable(fresh->low - stack_guard_bytes));
  }
  EXPECT_EQ(pool.stats().guarded, 20U);
  EXPECT_EQ(pool.stats().unguarded, 0U);
}

TEST(stack_pool, S29_every_size_from_the_smallest_to_1_GiB_can_be_used_to_its_end) {
  stack_pool pool(stack_size_default);
  std::vector<std::size_t> sizes{
      stack_size_min,     stack_size_min + 1,     20'000,    100'000,         stack_size_default - 1,
      stack_size_default, stack_size_default + 1, 1UL << 20, (1UL << 20) + 1, 64UL << 20,
      700UL << 20,        stack_size_max};
  for (std::size_t const size : sizes) {
    stack* const fresh = pool.allocate(size);
    ASSERT_NE(fresh, nullptr) << size;
    EXPECT_EQ(fresh->size, size);
    EXPECT_GE(static_cast<std::size_t>(fresh->top - fresh->low), size + stack_join_reserve_bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(fresh->top) % 16, 0U);
    *fresh->low = 1;
    *(fresh->top - size) = 1;
    *(fresh->top - 1) = 1;
    EXPECT_FALSE(os::readable(fresh->low - 1)) << size;
    pool.release(fresh);
    stack* const again = pool.allocate(size);
    EXPECT_EQ(again, fresh) << size;
  }
}

TEST(stack_pool, sizes_outside_the_limits_are_brought_within) {
  stack_pool pool(1);
  EXPECT_EQ(pool.default_size(), stack_size_min);
  EXPECT_EQ(pool.allocate(0)->size, stack_size_min);
  EXPECT_EQ(pool.allocate(~std::size_t{0})->size, stack_size_max);
}

TEST(stack_pool, other_sizes_of_one_class_share_stacks_and_the_size_follows_the_request) {
  stack_pool pool(stack_size_default);
  stack* const first = pool.allocate(600'000);
  pool.release(first);
  stack* const second = pool.allocate(1'000'000);
  EXPECT_EQ(second, first);
  EXPECT_EQ(second->size, 1'000'000U);
  pool.release(second);
  EXPECT_NE(pool.allocate(stack_size_default), first);
  EXPECT_NE(pool.allocate(500'000), first);
}

TEST(stack_pool, last_released_is_allocated_first) {
  stack_pool pool(stack_size_default);
  std::vector<stack*> const taken = take_all(pool, 5);
  for (stack* const each : taken) pool.release(each);
  for (std::size_t i = 5; i-- > 0;) EXPECT_EQ(pool.allocate(stack_size_default), taken[i]);
  EXPECT_EQ(pool.stats().carved, 5U);
}

TEST(stack_pool, released_stack_belongs_to_no_goroutine) {
  stack_pool pool(stack_size_default);
  stack* const used = pool.allocate(stack_size_default);
  used->goroutine_id = 17;
  pool.release(used);
  EXPECT_EQ(used->goroutine_id, 0U);
}

TEST(stack_pool, batch_is_recycled_stacks_first_and_never_more_than_wanted) {
  stack_pool pool(stack_size_default);
  std::vector<stack*> const taken = take_all(pool, 10);
  for (stack* const each : taken) pool.release(each);
  std::uint32_t count = 6;
  stack* list = pool.allocate_batch(count);
  EXPECT_EQ(count, 6U);
  std::size_t linked = 0;
  for (stack* each = list; each != nullptr; each = each->next) EXPECT_EQ(each, taken[9 - linked++]);
  EXPECT_EQ(linked, 6U);

  count = 16;
  list = pool.allocate_batch(count);
  EXPECT_EQ(count, 4U) << "the rest of the recycled ones, none carved";
  EXPECT_EQ(pool.stats().carved, 10U);

  count = 16;
  list = pool.allocate_batch(count);
  ASSERT_NE(list, nullptr);
  EXPECT_GE(count, 1U);
  EXPECT_LE(count, 16U);
  EXPECT_EQ(pool.stats().carved, 10U + count);
  linked = 0;
  for (stack* each = list; each != nullptr; each = each->next) ++linked;
  EXPECT_EQ(linked, count);
}

TEST(stack_pool, released_batch_is_taken_from_its_front) {
  stack_pool pool(stack_size_default);
  std::vector<stack*> const taken = take_all(pool, 3);
  taken[0]->next = taken[1];
  taken[1]->next = taken[2];
  for (stack* const each : taken) each->goroutine_id = 5;
  pool.release_batch(taken[0], 3);
  EXPECT_EQ(pool.stats().free, 3U);
  for (stack* const each : taken) EXPECT_EQ(each->goroutine_id, 0U);
  for (stack* const each : taken) EXPECT_EQ(pool.allocate(stack_size_default), each);
}

TEST(stack_pool, stats_add_up) {
  stack_pool pool(stack_size_default);
  EXPECT_EQ(pool.stats().arenas, 0U);
  std::vector<stack*> const taken = take_all(pool, 70);
  pool.release(taken[3]);
  pool.release(pool.allocate(1UL << 20));
  stack_stats const stats = pool.stats();
  EXPECT_EQ(stats.carved, 71U);
  EXPECT_EQ(stats.free, 2U);
  EXPECT_EQ(stats.in_use, 69U);
  EXPECT_EQ(stats.given_back, 0U);
  EXPECT_EQ(stats.guarded + stats.unguarded, 71U);
  EXPECT_EQ(stats.arenas, 3U) << "64 slots, 128 slots, and one of the larger class";
  EXPECT_GT(stats.bytes_reserved, 192 * (stack_size_default + stack_guard_bytes));
}

TEST(stack_pool, destruction_unmaps_and_abandoning_does_not) {
  char* low = nullptr;
  {
    stack_pool pool(stack_size_default);
    low = pool.allocate(stack_size_default)->low;
  }
  EXPECT_FALSE(os::readable(low));
  {
    stack_pool pool(stack_size_default);
    stack* const left_behind = pool.allocate(stack_size_default);
    low = left_behind->low;
    pool.abandon();
    EXPECT_EQ(pool.stats().carved, 0U);
    EXPECT_NE(pool.allocate(stack_size_default), left_behind);
  }
  EXPECT_TRUE(os::readable(low));
  EXPECT_FALSE(os::readable(low - 1));
}

TEST(stack_pool, S32_SK_04_stacks_idle_for_a_whole_interval_give_all_their_memory_back) {
  stack_pool pool(stack_size_default);
  std::vector<stack*> taken = take_all(pool, 100);
  std::vector<stack> const remembered = copies_of(taken);
  for (stack* const each : taken) {
    dirty(*each, 50'000);
    pool.release(each);
  }
  EXPECT_EQ(pool.scavenge(), 0U) << "they were in use during this interval";
  EXPECT_EQ(pool.scavenge(), 100U);
  for (stack const& each : remembered) EXPECT_EQ(resident_pages(each), 0U);
  stack_stats const stats = pool.stats();
  EXPECT_EQ(stats.given_back, 100U);
  EXPECT_EQ(stats.free, 0U);
  EXPECT_EQ(stats.in_use, 0U);
  EXPECT_EQ(pool.scavenge(), 0U);

  std::set<stack*> again;
  for (int i = 0; i < 100; ++i) {
    stack* const revived = pool.allocate(stack_size_default);
    ASSERT_NE(revived, nullptr);
    EXPECT_EQ(resident_pages(*revived), 1U);
    EXPECT_FALSE(os::readable(revived->low - 1));
    EXPECT_EQ(*(revived->top - 1000), 0);
    again.insert(revived);
  }
  EXPECT_EQ(again, std::set<stack*>(taken.begin(), taken.end()));
  EXPECT_EQ(pool.stats().carved, 100U);
  EXPECT_EQ(pool.stats().guarded, 100U);
}

TEST(stack_pool, SK_04_live_stacks_and_those_needed_in_the_interval_keep_their_memory) {
  stack_pool pool(stack_size_default);
  std::vector<stack*> const taken = take_all(pool, 10);
  std::vector<stack> const remembered = copies_of(taken);
  for (stack* const each : taken) dirty(*each, 20'000);
  for (int i = 0; i < 8; ++i) pool.release(taken[static_cast<std::size_t>(i)]);
  EXPECT_EQ(pool.scavenge(), 0U);
  // Three are used and come back: the five below were not needed.
  std::vector<stack*> const hot = take_all(pool, 3);
  for (stack* const each : hot) pool.release(each);
  EXPECT_EQ(pool.scavenge(), 5U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(resident_pages(remembered[i]), 0U);
  for (stack* const each : hot) EXPECT_GT(resident_pages(*each), 1U);
  EXPECT_GT(resident_pages(*taken[8]), 1U);
  EXPECT_GT(resident_pages(*taken[9]), 1U);
  EXPECT_EQ(*(taken[9]->top - 20'000), 0x5a);
}

TEST(stack_pool, SK_04_giving_back_goes_in_steps_and_condemned_stacks_still_serve) {
  stack_pool pool(stack_size_default);
  std::vector<stack*> const taken = take_all(pool, 10);
  for (stack* const each : taken) pool.release(each);
  pool.condemn_idle();
  pool.condemn_idle();
  EXPECT_EQ(pool.stats().free, 10U);
  EXPECT_EQ(pool.give_back(3), 3U);
  EXPECT_EQ(pool.stats().given_back, 3U);
  EXPECT_EQ(pool.stats().free, 7U);
  std::uint32_t count = 2;
  ASSERT_NE(pool.allocate_batch(count), nullptr);
  EXPECT_EQ(count, 2U);
  EXPECT_EQ(pool.stats().carved, 10U);
  pool.condemn_idle();
  EXPECT_EQ(pool.give_back(100), 5U);
  EXPECT_EQ(pool.give_back(100), 0U);
  EXPECT_EQ(pool.stats().in_use, 2U);
}

// Whatever is taken and put back in between, the pool gives back exactly the stacks that were not taken in the
// interval.
TEST(stack_pool, SK_04_random_use_gives_back_exactly_the_stacks_that_were_not_needed) {
  random_source random(29);
  for (int round = 0; round < 200; ++round) {
    stack_pool pool(stack_size_min);
    std::vector<stack*> taken = take_all(pool, 20);
    for (stack* const each : taken) pool.release(each);
    pool.condemn_idle();
    std::set<stack*> needed;
    taken.clear();
    for (std::uint32_t step = random.below(60); step > 0; --step) {
      if (random.below(2) == 0 && !taken.empty()) {
        pool.release(taken.back());
        taken.pop_back();
      } else if (taken.size() < 20) {
        taken.push_back(pool.allocate(stack_size_min));
        needed.insert(taken.back());
      }
    }
    for (stack* const each : taken) pool.release(each);
    EXPECT_EQ(pool.scavenge(), 20 - needed.size());
    for (stack const* const each : needed) EXPECT_EQ(each->top, reinterpret_cast<char const*>(each));
    EXPECT_EQ(pool.stats().free, needed.size());
  }
}

TEST(stack_pool, T10_unused_depth_of_a_parked_stack_goes_back_and_what_it_uses_stays) {
  stack_pool pool(stack_size_default);
  stack* const parked = pool.allocate(stack_size_default);
  dirty(*parked, 100'000);
  char* const sp = parked->top - 30'000;
  EXPECT_GT(give_back_below(*parked, sp), 60'000U);
  EXPECT_LE(resident_pages(*parked), 30'000 / os::page_size() + 2);
  EXPECT_TRUE(std::all_of(sp - 128, parked->top, [](char byte) { return byte == 0x5a; }));
  EXPECT_FALSE(os::readable(parked->low - 1));
  char* const page = parked->low + 70 * os::page_size();
  *(page - 128) = 1;
  give_back_below(*parked, page);
  EXPECT_EQ(*(page - 128), 1) << "the red zone of a leaf function crosses the page";
  EXPECT_EQ(give_back_below(*parked, parked->low + 100), 0U);
  EXPECT_EQ(give_back_below(*parked, parked->top + 4096), 0U) << "an sp that is not on this stack";
}

TEST(stack_pool, abandoned_frames_leave_no_poison_for_the_next_goroutine) {
  stack_pool pool(stack_size_default);
  stack* const used = pool.allocate(stack_size_default);
#if THRUM_ASAN
  __asan_poison_memory_region(used->top - 20'000, 10'000);
#endif
  pool.release(used);
  stack* const again = pool.allocate(stack_size_default);
  ASSERT_EQ(again, used);
  dirty(*again, 30'000);  // ASan ends the program here if it is still poisoned
}

// 100,000 here; a million takes the same way through 250 arenas.
TEST(stack_pool, S29_a_hundred_thousand_stacks_are_all_guarded_in_a_few_mappings) {
  std::size_t const count = with_asan || with_tsan ? 10'000 : 100'000;
  stack_pool pool(stack_size_default);
  std::size_t const before = mappings();
  std::size_t missing = 0;
  std::size_t open = 0;
  for (std::size_t i = 0; i < count; ++i) {
    stack const* const fresh = pool.allocate(stack_size_default);
    missing += fresh == nullptr ? 1 : 0;
    if (i % 1000 == 0) open += os::readable(fresh->low - 1) ? 1 : 0;
  }
  stack_stats const stats = pool.stats();
  EXPECT_EQ(missing, 0U);
  EXPECT_EQ(stats.carved, count);
  if (stats.guarded_by_mprotect > 0) GTEST_SKIP() << "no guard markers on this kernel: the budget decides";
  EXPECT_EQ(open, 0U);
  EXPECT_EQ(stats.guarded, count);
  EXPECT_LT(mappings(), before + 100);
  EXPECT_LE(stats.arenas, 8 + count / arena_slots_max);
}

TEST(stack_pool, eight_threads_never_share_a_stack) {
  stack_pool pool(stack_size_min);
  constexpr int rounds = 400;
  std::atomic<int> shared{0};
  auto const work = [&](std::uint64_t self) {
    std::vector<stack*> mine;
    for (int round = 0; round < rounds; ++round) {
      std::size_t const size = round % 7 == 0 ? 100'000 : stack_size_min;
      if (round % 5 == 0) {
        std::uint32_t count = 16;
        for (stack* each = pool.allocate_batch(count); each != nullptr;) {
          stack* const next = each->next;
          mine.push_back(each);
          each = next;
        }
      } else {
        mine.push_back(pool.allocate(size));
      }
      for (stack* const each : mine) {
        if (each->goroutine_id != 0 && each->goroutine_id != self) ++shared;
        each->goroutine_id = self;
        *(each->top - 8) = static_cast<char>(self);
      }
      while (mine.size() > static_cast<std::size_t>(round % 13)) {
        if (*(mine.back()->top - 8) != static_cast<char>(self)) ++shared;
        pool.release(mine.back());
        mine.pop_back();
      }
    }
    for (stack* const each : mine) pool.release(each);
  };
  std::atomic<bool> done{false};
  std::thread scavenger([&] {
    while (!done) {
      pool.condemn_idle();
      pool.give_back(5);
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> threads;
  for (std::uint64_t self = 1; self <= 8; ++self) threads.emplace_back(work, self);
  for (std::thread& each : threads) each.join();
  done = true;
  scavenger.join();
  EXPECT_EQ(shared, 0);
  stack_stats const stats = pool.stats();
  EXPECT_EQ(stats.in_use, 0U);
  EXPECT_EQ(stats.free + stats.given_back, stats.carved);
  EXPECT_EQ(stats.guarded + stats.unguarded, stats.carved);
}

}  // namespace
}  // namespace thrum::rt
