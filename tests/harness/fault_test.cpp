#include "os/fault.h"

#include <thread>
#include <vector>

#include <errno.h>
#include <gtest/gtest.h>

namespace thrum::rt::os {
namespace {

class fault : public testing::Test {
 protected:
  void SetUp() override { clear_faults(); }
  void TearDown() override { clear_faults(); }
};

// The errno the next call of this kind fails with, 0 if it passes.
int next(call c) {
  int error = 0;
  return should_fail(c, error) ? error : 0;
}

TEST_F(fault, nothing_fails_and_nothing_is_counted_while_nothing_is_armed) {
  EXPECT_EQ(next(call::mmap), 0);
  EXPECT_EQ(calls_made(call::mmap), 0U);
}

TEST_F(fault, skips_so_many_calls_then_fails_so_many_and_passes_again) {
  inject_fault(call::mmap, ENOMEM, 2, 3);
  int const expected[] = {0, 0, ENOMEM, ENOMEM, ENOMEM, 0, 0};
  for (int const error : expected) EXPECT_EQ(next(call::mmap), error);
  EXPECT_EQ(calls_made(call::mmap), 7U);
}

TEST_F(fault, of_one_kind_leaves_the_other_kinds_alone) {
  inject_fault(call::mmap, ENOMEM);
  EXPECT_EQ(next(call::munmap), 0);
  EXPECT_EQ(next(call::mmap), ENOMEM);
}

TEST_F(fault, a_new_plan_replaces_the_old_one) {
  inject_fault(call::open, EMFILE, 0, 10);
  inject_fault(call::open, ENOENT, 1, 1);
  EXPECT_EQ(next(call::open), 0);
  EXPECT_EQ(next(call::open), ENOENT);
  EXPECT_EQ(next(call::open), 0);
}

TEST_F(fault, for_good_lasts_until_it_is_cleared) {
  inject_fault(call::read, EIO, 0, fault_for_good);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(next(call::read), EIO);
  clear_faults();
  EXPECT_EQ(next(call::read), 0);
}

TEST_F(fault, counting_alone_fails_nothing) {
  count_calls();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(next(call::madvise), 0);
  EXPECT_EQ(calls_made(call::madvise), 5U);
}

TEST_F(fault, the_largest_errno_and_the_largest_skip_are_kept_whole) {
  inject_fault(call::mmap, 4095, fault_skip_max, 1);
  EXPECT_EQ(next(call::mmap), 0);
  inject_fault(call::mmap, 4095);
  EXPECT_EQ(next(call::mmap), 4095);
}

TEST_F(fault, exactly_the_planned_number_fails_however_many_threads_call) {
  constexpr int threads = 8;
  constexpr int calls_each = 5000;
  inject_fault(call::futex, EINTR, 1000, 777);
  std::vector<int> failed(threads, 0);
  std::vector<std::thread> callers;
  callers.reserve(threads);
  for (int i = 0; i < threads; ++i) {
    callers.emplace_back([&failed, i] {
      for (int n = 0; n < calls_each; ++n) failed[static_cast<std::size_t>(i)] += next(call::futex) == EINTR;
    });
  }
  int sum = 0;
  for (int i = 0; i < threads; ++i) {
    callers[static_cast<std::size_t>(i)].join();
    sum += failed[static_cast<std::size_t>(i)];
  }
  EXPECT_EQ(sum, 777);
  EXPECT_EQ(calls_made(call::futex), static_cast<std::uint64_t>(threads) * calls_each);
}

TEST_F(fault, a_plan_without_an_errno_is_refused) {
  EXPECT_EXIT(inject_fault(call::mmap, 0), testing::ExitedWithCode(2), "error > 0");
}

}  // namespace
}  // namespace thrum::rt::os
