// S06: `go f()`.
#include "os/fault.h"
#include "support/allocations.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <set>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using test::run_at;
using test::this_g;
using test::this_p;
using test::this_sched;

class spawning : public test::at_every_width {};

void spawn_and_wait(int count) {
  wait_group all;
  all.add(count);
  for (int i = 0; i < count; ++i) {
    thrum::go([&all] { all.done(); });
  }
  all.wait();
}

TEST_P(spawning, S06_a_thousand_small_goroutines_allocate_nothing_on_the_heap) {
  if (!test::allocations_are_seen) GTEST_SKIP() << "the sanitizer has the heap to itself";
  run([&] {
    for (int round = 0; round < 3; ++round) spawn_and_wait(1000);  // threads, records and stacks are made
    EXPECT_TRUE(test::wait_until([&] {
      // With many Ps a thread may still be made in a later round: once is enough to show it.
      std::uint64_t const before = test::allocations_made();
      spawn_and_wait(1000);
      return test::allocations_made() == before;
    }));
  });
}

TEST(spawning, S06_at_one_p_not_a_single_allocation_is_made_after_the_first_round) {
  if (!test::allocations_are_seen) GTEST_SKIP() << "the sanitizer has the heap to itself";
  test::without_slices const uninterrupted;  // sysmon orders a spare thread before a slice is over
  run_at(1, [] {
    spawn_and_wait(1000);
    EXPECT_TRUE(test::wait_until([] {  // a thread that is still being made allocates, too
      std::uint64_t const before = test::allocations_made();
      spawn_and_wait(1000);
      for (int i = 0; i < 1000; ++i) spawn([i] { return i; }).join();
      return test::allocations_made() == before;
    }));
    std::array<char, 200> large{};
    std::uint64_t const before = test::allocations_made_here();
    thrum::go([large] { static_cast<void>(large); });
    EXPECT_EQ(test::allocations_made_here(), before + 1) << "a callable above 80 bytes is one allocation";
    thrum::yield();
  });
}

TEST(spawning, S06_records_and_stacks_are_used_again) {
  test::in_run_order const undisturbed;
  run_at(1, [] {
    spawn_and_wait(1000);
    std::uint32_t const records = this_sched().records.gs_made();
    std::size_t const stacks = this_sched().stacks.stats().carved;
    rt::os::count_calls();
    for (int round = 0; round < 20; ++round) spawn_and_wait(1000);
    EXPECT_EQ(this_sched().records.gs_made(), records);
    EXPECT_EQ(this_sched().stacks.stats().carved, stacks);
    EXPECT_EQ(rt::os::calls_made(rt::os::call::mmap), 0U);
    rt::os::clear_faults();
    EXPECT_LE(records, 1100U) << "as many as lived at once, and half a cache";
  });
}

TEST(spawning, S06_goroutines_that_run_one_after_another_share_one_stack) {
  test::in_run_order const undisturbed;
  run_at(1, [] {
    std::set<rt::stack*> stacks;
    std::uint64_t const before = this_p().counters.stack_handovers.load(rt::relaxed);
    wait_group all;
    for (int i = 0; i < 100; ++i) all.go([&] { stacks.insert(this_g().on); });
    all.wait();
    EXPECT_EQ(stacks.size(), 1U);
    EXPECT_GE(this_p().counters.stack_handovers.load(rt::relaxed) - before, 98U);
  });
}

TEST(spawning, S06_the_dead_record_last_used_is_the_next_to_be_used) {
  test::without_slices const uninterrupted;
  run_at(1, [] {
    rt::G* first = nullptr;
    rt::G* second = nullptr;
    wait_group all;
    all.go([&] { first = &this_g(); });
    all.wait();
    all.go([&] { second = &this_g(); });
    all.wait();
    EXPECT_EQ(first, second);
    EXPECT_NE(first, nullptr);
  });
}

TEST(spawning, S06_a_new_goroutine_goes_to_runnext_and_its_creator_goes_on) {
  test::without_slices const uninterrupted;
  run_at(1, [] {
    bool ran = false;
    thrum::go([&] { ran = true; });
    EXPECT_FALSE(ran);
    ASSERT_TRUE(this_p().queue.peek_next());
    EXPECT_EQ(this_p().queue.size(), 0U);
    thrum::yield();
    EXPECT_TRUE(ran);
  });
}

TEST(spawning, S06_with_an_idle_p_and_no_m_spinning_one_is_woken) {
  test::in_run_order const undisturbed;
  run_at(2, [] {
    std::atomic<bool> ran{false};
    EXPECT_EQ(num_threads(), 1);
    thrum::go([&] { ran = true; });
    EXPECT_EQ(this_p().counters.wakes.load(rt::relaxed), 1U);
    EXPECT_TRUE(test::spin_until([&] { return ran.load(); })) << "while main keeps its own P";
    EXPECT_EQ(num_threads(), 2);
  });
}

TEST(spawning, S06_with_no_idle_p_no_thread_is_woken) {
  test::in_run_order const undisturbed;
  run_at(1, [] {
    for (int i = 0; i < 10; ++i) thrum::go([] {});
    EXPECT_EQ(this_p().counters.wakes.load(rt::relaxed), 0U);
    EXPECT_EQ(num_threads(), 1);
  });
}

THRUM_AT_EVERY_WIDTH(spawning);

}  // namespace
}  // namespace thrum
