// The run queue and runnext of a P, without a scheduler: which goroutines come out, and in which order.
#include "core/run_queue.h"

#include "support/fake_gs.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

using test::fake_gs;
using test::number_of;
using test::numbers;

constexpr auto done = run_queue::put_result::done;
constexpr auto full = run_queue::put_result::full;

void fill(run_queue& queue, fake_gs& gs, long from, long to) {
  for (long i = from; i < to; ++i) ASSERT_EQ(queue.put(test::push, gs.plain(static_cast<std::size_t>(i))), done);
}

std::vector<long> drain(run_queue& queue) {
  std::vector<long> order;
  while (entry const e = queue.pop()) order.push_back(number_of(e));
  return order;
}

class run_queues : public testing::TestWithParam<std::uint32_t> {
 protected:
  [[nodiscard]] static long capacity() { return static_cast<long>(GetParam()); }
};

TEST_P(run_queues, SC_01_every_fill_comes_back_in_order) {
  run_queue queue(GetParam());
  fake_gs gs(GetParam());
  for (long count = 0; count < capacity(); ++count) {
    EXPECT_FALSE(queue.pop()) << "empty before";
    fill(queue, gs, 0, count);
    EXPECT_EQ(queue.size(), static_cast<std::uint32_t>(count));
    EXPECT_EQ(drain(queue), numbers(0, count));
    EXPECT_EQ(queue.size(), 0U) << "empty after";
    EXPECT_TRUE(queue.looks_empty());
    EXPECT_TRUE(queue.is_empty_to_owner());
  }
}

TEST_P(run_queues, S07_S08_without_thieves_the_owner_gets_the_same) {
  run_queue queue(GetParam());
  queue.set_has_thieves(false);
  fake_gs gs(GetParam() + 2);
  entry const first = gs.plain(GetParam());
  entry const second = gs.plain(GetParam() + 1);
  for (int times = 0; times < 3; ++times) {
    fill(queue, gs, 0, capacity());
    EXPECT_FALSE(queue.swap_next(test::push, first));
    EXPECT_EQ(queue.swap_next(test::push, second), first);
    EXPECT_EQ(queue.waiting(), GetParam() + 1);
    EXPECT_EQ(queue.take_next(), second);
    EXPECT_FALSE(queue.take_next());
    EXPECT_EQ(drain(queue), numbers(0, capacity()));
    EXPECT_TRUE(queue.looks_empty());
  }
}

TEST_P(run_queues, S07_a_run_queue_takes_exactly_its_capacity) {
  run_queue queue(GetParam());
  fake_gs gs(GetParam() + 1);
  fill(queue, gs, 0, capacity());
  EXPECT_EQ(queue.put(test::push, gs.plain(GetParam())), full);
  EXPECT_EQ(queue.size(), GetParam()) << "a put that was refused changes nothing";
  EXPECT_EQ(number_of(queue.pop()), 0);
  EXPECT_EQ(queue.put(test::push, gs.plain(GetParam())), done) << "a pop made room";
  EXPECT_EQ(drain(queue), numbers(1, capacity() + 1));
}

TEST_P(run_queues, S07_indices_wrap_around_for_ever) {
  run_queue queue(GetParam());
  fake_gs gs(2);
  for (long round = 0; round < 10 * capacity(); ++round) {
    fill(queue, gs, 0, 2);
    ASSERT_EQ(drain(queue), numbers(0, 2));
  }
}

TEST_P(run_queues, SC_04_the_older_half_of_a_full_run_queue_can_be_taken_out_in_order) {
  run_queue queue(GetParam());
  fake_gs gs(GetParam());
  fill(queue, gs, 0, capacity());
  std::uint32_t first = 0;
  ASSERT_TRUE(queue.claim_older_half(first));
  std::vector<long> taken;
  for (std::uint32_t i = 0; i < GetParam() / 2; ++i) taken.push_back(number_of(queue.at(first + i)));
  EXPECT_EQ(taken, numbers(0, capacity() / 2));
  EXPECT_EQ(drain(queue), numbers(capacity() / 2, capacity()));
}

TEST_P(run_queues, SC_04_a_run_queue_that_is_not_full_keeps_its_older_half) {
  run_queue queue(GetParam());
  fake_gs gs(GetParam());
  fill(queue, gs, 0, capacity() - 1);
  std::uint32_t first = 0;
  EXPECT_FALSE(queue.claim_older_half(first));
  EXPECT_EQ(drain(queue), numbers(0, capacity() - 1));
}

TEST_P(run_queues, SC_02_S12_a_steal_takes_the_oldest_half_rounded_up_and_runs_the_last_of_them) {
  fake_gs gs(GetParam());
  for (long count = 0; count <= capacity(); ++count) {
    run_queue victim(GetParam());
    run_queue thief(GetParam());
    fill(victim, gs, 0, count);
    entry const to_run = thief.steal_half_from(victim);
    long const half = (count + 1) / 2;
    EXPECT_EQ(number_of(to_run), half - 1) << "of " << count;
    EXPECT_EQ(drain(thief), numbers(0, half - 1)) << "of " << count;
    EXPECT_EQ(drain(victim), numbers(half, count)) << "of " << count;
  }
}

TEST_P(run_queues, S12_a_steal_leaves_runnext_alone) {
  fake_gs gs(1);
  run_queue victim(GetParam());
  run_queue thief(GetParam());
  EXPECT_FALSE(victim.swap_next(test::push, gs.plain(0)));
  EXPECT_FALSE(thief.steal_half_from(victim));
  EXPECT_EQ(victim.peek_next(), gs.plain(0));
}

TEST_P(run_queues, S12_a_thief_whose_indices_have_wrapped_steals_as_well) {
  fake_gs gs(GetParam());
  run_queue victim(GetParam());
  run_queue thief(GetParam());
  for (long round = 0; round < 5 * capacity(); ++round) {
    long const count = round % capacity() + 1;
    fill(victim, gs, 0, count);
    entry const to_run = thief.steal_half_from(victim);
    long const half = (count + 1) / 2;
    ASSERT_EQ(number_of(to_run), half - 1);
    ASSERT_EQ(drain(thief), numbers(0, half - 1));
    ASSERT_EQ(drain(victim), numbers(half, count));
  }
}

INSTANTIATE_TEST_SUITE_P(capacity, run_queues, testing::Values(4U, 8U, 64U, 256U), testing::PrintToStringParamName());

// --- runnext ---

TEST(runnext, S08_a_newer_one_kicks_the_older_out) {
  run_queue queue;
  fake_gs gs(2);
  EXPECT_FALSE(queue.swap_next(test::push, gs.plain(0)));
  EXPECT_EQ(queue.swap_next(test::push, gs.plain(1)), gs.plain(0));
  EXPECT_EQ(queue.take_next(), gs.plain(1));
  EXPECT_FALSE(queue.take_next());
}

TEST(runnext, S08_it_stands_outside_the_run_queue_but_counts_as_work) {
  run_queue queue(4);
  fake_gs gs(5);
  EXPECT_FALSE(queue.swap_next(test::push, gs.plain(4)));
  EXPECT_EQ(queue.size(), 0U);
  EXPECT_FALSE(queue.looks_empty());
  EXPECT_FALSE(queue.is_empty_to_owner());
  EXPECT_FALSE(queue.pop());
  fill(queue, gs, 0, 4);  // there is still room for as many
  EXPECT_EQ(queue.put(test::push, gs.plain(4)), full);
}

TEST(runnext, S12_a_thief_takes_it_only_while_it_is_the_one_that_it_saw) {
  run_queue queue;
  fake_gs gs(2);
  EXPECT_FALSE(queue.swap_next(test::push, gs.plain(0)));
  EXPECT_FALSE(queue.steal_next(gs.plain(1)));
  EXPECT_TRUE(queue.steal_next(gs.plain(0)));
  EXPECT_FALSE(queue.steal_next(gs.plain(0)));
  EXPECT_FALSE(queue.take_next()) << "it is gone for its owner too";
}

TEST(runnext, T07_a_joiner_removes_its_child_and_no_other_goroutine) {
  run_queue queue;
  fake_gs gs(2);
  EXPECT_FALSE(queue.swap_next(test::push, gs.claimable(0)));
  EXPECT_FALSE(queue.remove_next(entry::claimable(&gs[1])));
  EXPECT_FALSE(queue.remove_next(entry::plain(&gs[0]))) << "another kind of entry";
  EXPECT_TRUE(queue.remove_next(entry::claimable(&gs[0])));
  EXPECT_TRUE(queue.looks_empty());
}

}  // namespace
}  // namespace thrum::rt
