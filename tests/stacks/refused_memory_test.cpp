#include "base/limits.h"
#include "os/fault.h"
#include "os/memory.h"
#include "stack/stack_pool.h"
#include "stacks/mappings.h"

#include <cerrno>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

class stack_faults : public testing::Test {
 protected:
  ~stack_faults() override { os::clear_faults(); }
  static std::size_t default_stride() { return slot_geometry::for_size(stack_size_default, os::page_size()).stride; }
};

TEST_F(stack_faults, T10_no_memory_at_all_is_nullptr_for_every_size_and_not_the_end) {
  stack_pool pool(stack_size_default);
  os::inject_fault(os::call::mmap, ENOMEM, 0, os::fault_for_good);
  EXPECT_EQ(pool.allocate(stack_size_default), nullptr);
  EXPECT_EQ(pool.allocate(stack_size_max), nullptr);
  std::uint32_t count = 16;
  EXPECT_EQ(pool.allocate_batch(count), nullptr);
  EXPECT_EQ(count, 0U);
  EXPECT_EQ(pool.stats().arenas, 0U);
  os::clear_faults();
  EXPECT_NE(pool.allocate(stack_size_default), nullptr);
}

// The first mapping asks whether memory comes locked; then the reservations of 64, 32, 16 slots and so on are
// tried.
TEST_F(stack_faults, arena_halves_until_the_system_has_room) {
  stack_pool pool(stack_size_default);
  os::inject_fault(os::call::mmap, ENOMEM, 1, 4);
  ASSERT_NE(pool.allocate(stack_size_default), nullptr);
  os::clear_faults();
  EXPECT_EQ(pool.stats().arenas, 1U);
  EXPECT_EQ(pool.stats().bytes_reserved / default_stride(), 4U);
}

TEST_F(stack_faults, last_try_is_a_single_slot) {
  stack_pool pool(stack_size_default);
  os::inject_fault(os::call::mmap, ENOMEM, 1, 6);
  ASSERT_NE(pool.allocate(stack_size_default), nullptr);
  os::clear_faults();
  EXPECT_EQ(pool.stats().bytes_reserved / default_stride(), 1U);
  os::inject_fault(os::call::mmap, ENOMEM, 0, os::fault_for_good);
  EXPECT_EQ(pool.allocate(stack_size_default), nullptr);
}

// 300 stacks are allocated while the n-th mapping of all fails, for every n: none is handed out twice, and
// none lost.
TEST_F(stack_faults, failure_at_each_mapping_loses_nothing) {
  for (std::uint64_t failing = 0; failing < 12; ++failing) {
    for (std::uint64_t const times : {std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{20}}) {
      stack_pool pool(stack_size_min);
      os::inject_fault(os::call::mmap, ENOMEM, failing, times);
      std::set<stack*> taken;
      for (int tries = 0; taken.size() < 300 && tries < 400; ++tries) {
        stack* const fresh = pool.allocate(stack_size_min);
        if (fresh == nullptr) continue;
        EXPECT_TRUE(taken.insert(fresh).second);
      }
      os::clear_faults();
      ASSERT_EQ(taken.size(), 300U) << failing << " " << times;
      EXPECT_EQ(pool.stats().in_use, 300U);
      EXPECT_EQ(pool.stats().guarded, 300U);
      for (stack* const each : taken) pool.release(each);
      EXPECT_EQ(pool.stats().free, pool.stats().carved);
    }
  }
}

TEST_F(stack_faults, recycled_stacks_serve_while_nothing_can_be_mapped) {
  stack_pool pool(stack_size_default);
  stack* const used = pool.allocate(stack_size_default);
  pool.release(used);
  os::inject_fault(os::call::mmap, ENOMEM, 0, os::fault_for_good);
  EXPECT_EQ(pool.allocate(stack_size_default), used);
  for (int i = 0; i < 63; ++i) EXPECT_NE(pool.allocate(stack_size_default), nullptr) << "slots of the arena";
  EXPECT_EQ(pool.allocate(stack_size_default), nullptr);
}

TEST_F(stack_faults, T10_memory_that_cannot_be_given_back_stays_in_use_as_it_was) {
  stack_pool pool(stack_size_default);
  std::vector<stack*> taken;
  for (int i = 0; i < 5; ++i) taken.push_back(pool.allocate(stack_size_default));
  for (stack* const each : taken) pool.release(each);
  pool.scavenge();
  os::inject_fault(os::call::madvise, EINVAL, 0, os::fault_for_good);
  EXPECT_EQ(pool.scavenge(), 0U);
  os::clear_faults();
  EXPECT_EQ(pool.stats().free, 5U);
  EXPECT_EQ(pool.stats().given_back, 0U);
  std::set<stack*> again;
  for (int i = 0; i < 5; ++i) again.insert(pool.allocate(stack_size_default));
  EXPECT_EQ(again, std::set<stack*>(taken.begin(), taken.end()));
  for (stack const* const each : again) EXPECT_EQ(each->size, stack_size_default);
}

}  // namespace
}  // namespace thrum::rt
