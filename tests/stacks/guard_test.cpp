#include "stack/guard.h"

#include "base/limits.h"
#include "os/fault.h"
#include "os/memory.h"
#include "stack/stack_pool.h"
#include "stacks/mappings.h"

#include <cerrno>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum::rt {
namespace {

using test::mappings;

constexpr guard_policy by_mprotect{.allowed = guard_policy::ways::protection_only};

std::size_t count_of(std::string const& text, std::string const& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(stack_guard, T10_mprotect_guards_as_well_at_two_mappings_each) {
  stack_pool pool(stack_size_default, by_mprotect);
  std::size_t const before = mappings();
  for (int i = 0; i < 50; ++i) {
    stack const* const fresh = pool.allocate(stack_size_default);
    EXPECT_TRUE(os::readable(fresh->low));
    EXPECT_FALSE(os::readable(fresh->low - 1));
    EXPECT_FALSE(os::readable(fresh->low - stack_guard_bytes));
  }
  EXPECT_EQ(pool.stats().guarded, 50U);
  EXPECT_EQ(pool.stats().guarded_by_mprotect, 50U);
  EXPECT_LE(mappings(), before + 110);  // a sanitizer may map something of its own meanwhile
  EXPECT_GE(mappings(), before + 99);
}

TEST(stack_guard, past_the_budget_stacks_go_unguarded_with_one_line_that_says_why_and_what_to_do) {
  stack_pool pool(stack_size_default, {.allowed = guard_policy::ways::protection_only, .mappings_max = 20});
  testing::internal::CaptureStderr();
  std::vector<stack*> taken;
  for (int i = 0; i < 30; ++i) taken.push_back(pool.allocate(stack_size_default));
  std::string const words = testing::internal::GetCapturedStderr();
  EXPECT_EQ(count_of(words, "\n"), 1U) << words;
  EXPECT_EQ(count_of(words, "thrum: new goroutine stacks have no guard from now on"), 1U) << words;
  EXPECT_EQ(count_of(words, "10 are guarded"), 1U) << words;
  EXPECT_EQ(count_of(words, "may use 20"), 1U) << words;
  EXPECT_EQ(count_of(words, "raise vm.max_map_count"), 1U) << words;
  EXPECT_EQ(count_of(words, "Linux 6.13"), 1U) << words;
  EXPECT_EQ(pool.stats().guarded, 10U);
  EXPECT_EQ(pool.stats().unguarded, 20U);
  EXPECT_FALSE(os::readable(taken[9]->low - 1));
  EXPECT_TRUE(os::readable(taken[10]->low - 1));
}

TEST(stack_guard, budget_is_free_again_when_the_arenas_are_unmapped) {
  guard_policy const policy{.allowed = guard_policy::ways::protection_only, .mappings_max = 20};
  for (int i = 0; i < 3; ++i) {
    stack_pool pool(stack_size_default, policy);
    for (int each = 0; each < 10; ++each) (void)pool.allocate(stack_size_default);
    EXPECT_EQ(pool.stats().guarded, 10U);
    EXPECT_EQ(pool.stats().unguarded, 0U);
  }
}

TEST(stack_guard, recycled_stacks_keep_their_guard_and_take_no_new_one) {
  stack_pool pool(stack_size_default, {.allowed = guard_policy::ways::protection_only, .mappings_max = 2});
  for (int i = 0; i < 10; ++i) {
    stack* const same = pool.allocate(stack_size_default);
    EXPECT_FALSE(os::readable(same->low - 1));
    pool.release(same);
    pool.scavenge();
  }
  EXPECT_EQ(pool.stats().guarded, 1U);
  EXPECT_EQ(pool.stats().unguarded, 0U);
}

TEST(stack_guard, T10_refused_marker_becomes_mprotect) {
  stack_pool pool(stack_size_default);
  (void)pool.allocate(stack_size_default);  // maps the arena: the next madvise is the guard's
  std::size_t const before = pool.stats().guarded_by_mprotect;
  os::inject_fault(os::call::madvise, EINVAL);
  stack const* const fresh = pool.allocate(stack_size_default);
  os::clear_faults();
  EXPECT_FALSE(os::readable(fresh->low - 1));
  EXPECT_EQ(pool.stats().guarded, 2U);
  EXPECT_EQ(pool.stats().guarded_by_mprotect, before + 1);
}

TEST(stack_guard, failing_mprotect_leaves_the_stack_unguarded_and_says_so_once) {
  stack_pool pool(stack_size_default, by_mprotect);
  os::inject_fault(os::call::mprotect, ENOMEM, 1, 2);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 4; ++i) EXPECT_NE(pool.allocate(stack_size_default), nullptr);
  std::string const words = testing::internal::GetCapturedStderr();
  os::clear_faults();
  EXPECT_EQ(count_of(words, "\n"), 1U) << words;
  EXPECT_EQ(count_of(words, "ENOMEM"), 1U) << words;
  EXPECT_EQ(pool.stats().guarded, 2U);
  EXPECT_EQ(pool.stats().unguarded, 2U);
}

// The child says with its exit code what it saw. mlockall needs the right to lock: without it the test is
// skipped.
int allocate_under_mlockall() {
  if (::mlockall(MCL_CURRENT | MCL_FUTURE) != 0) return 77;
  stack_pool pool(stack_size_default);
  stack* fresh = nullptr;
  for (int i = 0; i < 10; ++i) fresh = pool.allocate(stack_size_default);
  if (fresh == nullptr) return 77;
  if (os::readable(fresh->low - 1) || !os::readable(fresh->low)) return 10;
  if (pool.stats().guarded_by_mprotect != 10) return 11;
  if (test::resident_pages(*fresh) > 2) return 12;  // the probe above touched the lowest page
  return 0;
}

TEST(stack_guard, T10_under_mlockall_mprotect_guards_and_the_arena_is_not_filled) {
  if (with_asan || with_tsan) GTEST_SKIP() << "locking a sanitizer's shadow would fill the machine";
  pid_t const child = ::fork();
  if (child == 0) ::_exit(allocate_under_mlockall());
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "this user may not lock memory";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace thrum::rt
