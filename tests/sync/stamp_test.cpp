// The rule by which words of objects that outlive a run tell live waiters from dead ones (sync/stamp.h).
#include "sync/stamp.h"

#include "support/scale.h"

#include <atomic>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

constexpr word waits = 1;
constexpr word one = 2;

// There is no run in this test: it says itself which one is alive.
class run_stamps : public testing::Test {
 protected:
  ~run_stamps() override { Sched::live_epoch.store(0, seq_cst); }
};

TEST_F(run_stamps, a_flag_counts_in_its_own_run_only) {
  Sched::live_epoch.store(7, relaxed);
  atomic<word> state{stamped(waits | one, waits, 7)};
  EXPECT_EQ(run_stamp<word>(state, waits).now(), waits | one);
  Sched::live_epoch.store(0, relaxed);
  EXPECT_EQ(run_stamp<word>(state, waits).now(), one);
  Sched::live_epoch.store(8, relaxed);
  EXPECT_EQ(run_stamp<word>(state, waits).now(), one);
  EXPECT_EQ(run_stamp<word>(state, waits, 7).now(), waits | one) << "inside that run";
}

TEST_F(run_stamps, a_word_without_a_flag_has_no_stamp) {
  Sched::live_epoch.store(7, relaxed);
  atomic<word> state{stamped(waits | one, waits, 6)};
  run_stamp<word> seen(state, waits);
  while (!seen.change_to(seen.now() + one)) {
  }
  EXPECT_EQ(state.load(relaxed), 2 * one);
  run_stamp<word> again(state, waits, 7);
  while (!again.change_to(again.now() | waits)) {
  }
  EXPECT_EQ(state.load(relaxed), 2 * one | waits | word{7} << stamp_shift);
}

TEST_F(run_stamps, words_of_32_bits_have_16_of_their_own) {
  Sched::live_epoch.store(0xffff, relaxed);
  atomic<std::uint32_t> state{0x7fff};
  run_stamp<std::uint32_t> seen(state, 0x8000U, 0xffff);
  while (!seen.change_to(0xffffU)) {
  }
  EXPECT_EQ(state.load(relaxed), 0xffff'ffffU);
  EXPECT_TRUE(run_stamp<std::uint32_t>(state, 0x8000U).has(0x8000U));
}

TEST_F(run_stamps, a_promise_is_broken_when_its_run_is_over_and_found_once) {
  atomic<word> promised{0};
  Sched::live_epoch.store(3, relaxed);
  promise(promised, 5, 3);
  promise(promised, 2, 3);
  accept(promised, 3);
  EXPECT_EQ(take_broken_promise(promised), 0U) << "the goroutine may still come";
  Sched::live_epoch.store(4, relaxed);
  EXPECT_EQ(take_broken_promise(promised), 4U);
  EXPECT_EQ(take_broken_promise(promised), 0U);
}

// One thread plays all runs. Each run begins, and a goroutine of it waits. The other threads are foreign threads that
// read the word. As long as a run is alive, they must never take its flags for flags that an ended run has left behind.
TEST_F(run_stamps, waiters_of_a_run_that_begins_meanwhile_are_never_forgotten) {
  auto const runs = static_cast<std::uint32_t>(test::scaled(60'000, 6'000));  // fewer than there are numbers
  atomic<word> state{0};
  std::atomic<bool> is_over{false};
  std::atomic<int> forgotten{0};
  std::atomic<int> changed{0};
  auto const look = [&] {
    while (!is_over) {
      run_stamp<word> seen(state, waits);
      if (seen.raw() >> stamp_shift > seen.epoch()) ++forgotten;  // the runs are numbered in their order
      if (!seen.has(waits) && seen.change_to(seen.now() + one)) ++changed;
    }
  };
  std::thread first(look);
  std::thread second(look);
  for (std::uint32_t run = 1; run <= runs; ++run) {
    Sched::live_epoch.store(run, relaxed);
    run_stamp<word> inside(state, waits, run);
    while (!inside.change_to(inside.now() | waits)) {
    }
    // This thread waits, so no other thread may have removed the flag, whatever it did before this look.
    for (int i = 0; i < 3; ++i) {
      if (!run_stamp<word>(state, waits, run).has(waits)) ++forgotten;
    }
  }
  is_over = true;
  first.join();
  second.join();
  EXPECT_EQ(forgotten.load(), 0);
}

}  // namespace
}  // namespace thrum::rt
