#include "stack/stack_cache.h"

#include "base/limits.h"
#include "os/fault.h"
#include "stacks/mappings.h"

#include <cerrno>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

TEST(stack_cache, last_put_is_taken_first) {
  stack_pool pool(stack_size_default);
  stack_cache cache;
  std::vector<stack*> taken;
  for (int i = 0; i < 10; ++i) taken.push_back(cache.take(pool));
  for (stack* const each : taken) cache.put(pool, each);
  for (std::size_t i = 10; i-- > 0;) EXPECT_EQ(cache.take(pool), taken[i]);
}

TEST(stack_cache, put_stack_belongs_to_no_goroutine) {
  stack_pool pool(stack_size_default);
  stack_cache cache;
  stack* const used = cache.take(pool);
  used->goroutine_id = 3;
  cache.put(pool, used);
  EXPECT_EQ(used->goroutine_id, 0U);
  cache.flush(pool);
}

TEST(stack_cache, full_cache_sends_its_older_half_to_the_pool) {
  stack_pool pool(stack_size_default);
  stack_cache cache;
  std::vector<stack*> taken;
  for (std::uint32_t i = 0; i < stack_cache_max + 1; ++i) taken.push_back(pool.allocate(stack_size_default));
  for (std::uint32_t i = 0; i < stack_cache_max; ++i) cache.put(pool, taken[i]);
  EXPECT_EQ(cache.count(), stack_cache_max);
  EXPECT_EQ(pool.stats().free, 0U);
  cache.put(pool, taken[stack_cache_max]);
  EXPECT_EQ(cache.count(), stack_cache_max / 2 + 1);
  EXPECT_EQ(pool.stats().free, stack_cache_max / 2);
  // The pool hands the youngest of the older half out first; the cache still has the younger ones.
  EXPECT_EQ(pool.allocate(stack_size_default), taken[stack_cache_max / 2 - 1]);
  EXPECT_EQ(cache.take(pool), taken[stack_cache_max]);
  EXPECT_EQ(cache.take(pool), taken[stack_cache_max - 1]);
}

TEST(stack_cache, it_never_holds_more_than_its_bound_and_loses_none) {
  stack_pool pool(stack_size_default);
  stack_cache cache;
  std::vector<stack*> taken;
  for (int i = 0; i < 500; ++i) taken.push_back(cache.take(pool));
  std::uint32_t const spare = cache.count();
  for (stack* const each : taken) {
    cache.put(pool, each);
    EXPECT_LE(cache.count(), stack_cache_max);
  }
  EXPECT_EQ(pool.stats().free + cache.count(), 500U + spare);
  EXPECT_EQ(std::set<stack*>(taken.begin(), taken.end()).size(), 500U);
}

TEST(stack_cache, empty_cache_takes_half_a_cache_of_recycled_stacks_hottest_first) {
  stack_pool pool(stack_size_default);
  std::vector<stack*> taken;
  for (int i = 0; i < 100; ++i) taken.push_back(pool.allocate(stack_size_default));
  for (stack* const each : taken) pool.release(each);
  stack_cache cache;
  EXPECT_EQ(cache.take(pool), taken[99]);
  EXPECT_EQ(cache.count(), stack_cache_max / 2 - 1);
  EXPECT_EQ(pool.stats().free, 100U - stack_cache_max / 2);
  EXPECT_EQ(cache.take(pool), taken[98]);
  EXPECT_EQ(cache.take(pool), taken[97]);
}

TEST(stack_cache, S29_first_goroutine_of_a_program_does_not_cost_half_a_cache_of_new_stacks) {
  stack_pool pool(stack_size_default);
  stack_cache cache;
  ASSERT_NE(cache.take(pool), nullptr);
  EXPECT_LE(pool.stats().carved, 4U);
}

TEST(stack_cache, start_and_end_in_turns_touch_the_pool_once) {
  stack_pool pool(stack_size_default);
  stack_cache cache;
  stack* const hot = cache.take(pool);
  cache.put(pool, hot);
  stack_stats const before = pool.stats();
  for (int i = 0; i < 1000; ++i) {
    stack* const same = cache.take(pool);
    ASSERT_EQ(same, hot);
    cache.put(pool, same);
  }
  EXPECT_EQ(pool.stats().carved, before.carved);
  EXPECT_EQ(pool.stats().free, before.free);
}

TEST(stack_cache, other_sizes_go_straight_to_the_pool) {
  stack_pool pool(stack_size_default);
  stack_cache cache;
  stack* const large = pool.allocate(1UL << 20);
  cache.put(pool, large);
  EXPECT_EQ(cache.count(), 0U);
  EXPECT_EQ(pool.stats().free, 1U);
  EXPECT_EQ(pool.allocate(1UL << 20), large);
}

TEST(stack_cache, flush_leaves_nothing_behind) {
  stack_pool pool(stack_size_default);
  stack_cache cache;
  std::vector<stack*> taken;
  for (int i = 0; i < 20; ++i) taken.push_back(pool.allocate(stack_size_default));
  for (stack* const each : taken) cache.put(pool, each);
  cache.flush(pool);
  EXPECT_EQ(cache.count(), 0U);
  EXPECT_EQ(pool.stats().free, 20U);
  EXPECT_EQ(pool.stats().in_use, 0U);
  EXPECT_EQ(pool.allocate(stack_size_default), taken[19]);
  cache.flush(pool);
}

TEST(stack_cache, T10_no_memory_is_nullptr_and_works_again_later) {
  stack_pool pool(stack_size_default);
  stack_cache cache;
  os::inject_fault(os::call::mmap, ENOMEM, 0, os::fault_for_good);
  EXPECT_EQ(cache.take(pool), nullptr);
  EXPECT_EQ(cache.count(), 0U);
  os::clear_faults();
  EXPECT_NE(cache.take(pool), nullptr);
}

}  // namespace
}  // namespace thrum::rt
