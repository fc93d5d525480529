// Local and global queue together: overflow, shares, injected lists, on a scheduler that does not run.
#include "sched/queues.h"

#include "sched/runnable.h"
#include "support/bare_sched.h"
#include "support/fake_gs.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

using test::bare_sched;
using test::fake_gs;
using test::number_of;
using test::numbers;
using test::operator+;

// As `go` does it: each goroutine goes to runnext, and the goroutine that was there goes to the tail.
void make(bare_sched& s, fake_gs& gs, long from, long to) {
  for (long i = from; i < to; ++i) put_next(test::push, s.p(0), gs.plain(static_cast<std::size_t>(i)));
}

// --- S07, SC-04 ---

class overflow : public testing::TestWithParam<std::uint32_t> {};

TEST_P(overflow, S07_full_ring_sends_its_older_half_and_the_new_g_to_the_global_queue) {
  auto const capacity = static_cast<long>(GetParam());
  bare_sched s(1, GetParam());
  fake_gs gs(GetParam() + 2);

  make(s, gs, 0, capacity + 1);  // one stands in runnext: all fit
  EXPECT_EQ(s.p(0).queue.size(), GetParam());
  EXPECT_EQ(s->global_size.load(relaxed), 0U);
  EXPECT_EQ(s.p(0).counters.overflows.load(relaxed), 0U);

  make(s, gs, capacity + 1, capacity + 2);  // kicks the one before it out, into a full run queue
  EXPECT_EQ(s.p(0).counters.overflows.load(relaxed), 1U);
  EXPECT_EQ(s->global_size.load(relaxed), GetParam() / 2 + 1) << "in one batch";
  EXPECT_EQ(s.p(0).queue.size(), GetParam() / 2);
  EXPECT_EQ(number_of(s.p(0).queue.take_next()), capacity + 1);
  EXPECT_EQ(s.drain_run_queue(0), numbers(capacity / 2, capacity)) << "the younger half stays, in order";
  EXPECT_EQ(s.drain_global(), numbers(0, capacity / 2) + numbers(capacity, capacity + 1))
      << "half, then the kicked out";
}

TEST_P(overflow, S07_the_batch_goes_behind_what_waits_in_the_global_queue) {
  auto const capacity = static_cast<long>(GetParam());
  bare_sched s(1, GetParam());
  fake_gs gs(GetParam() + 2);
  fake_gs earlier(1);
  earlier[0].id = 999;
  s.put_global(earlier.plain(0));
  make(s, gs, 0, capacity + 2);
  EXPECT_EQ(s.drain_global().front(), 999);
}

TEST_P(overflow, S07_a_put_at_the_tail_overflows_as_well) {
  auto const capacity = static_cast<long>(GetParam());
  bare_sched s(1, GetParam());
  fake_gs gs(GetParam() + 1);
  for (std::size_t i = 0; i <= GetParam(); ++i) put_tail(test::push, s.p(0), gs.plain(i));
  EXPECT_EQ(s.drain_run_queue(0), numbers(capacity / 2, capacity));
  EXPECT_EQ(s.drain_global(), numbers(0, capacity / 2) + numbers(capacity, capacity + 1));
}

TEST_P(overflow, T07_a_run_queue_full_of_joined_children_forgets_them_instead) {
  bare_sched s(1, GetParam());
  fake_gs gs(GetParam() + 1);
  for (std::size_t i = 0; i < GetParam(); ++i) {
    put_tail(test::push, s.p(0), gs.claimable(i));
    ASSERT_TRUE(claim(gs[i]));
    gs[i].references.store(1, relaxed);  // the handle is gone
  }
  put_tail(test::push, s.p(0), gs.plain(GetParam()));
  EXPECT_EQ(s->global_size.load(relaxed), 0U);
  EXPECT_EQ(s.p(0).counters.overflows.load(relaxed), 0U);
  EXPECT_EQ(s.drain_run_queue(0), numbers(static_cast<long>(GetParam()), static_cast<long>(GetParam()) + 1));
  EXPECT_GT(s.p(0).free_g_count, 0U) << "the records of the forgotten are reused";
}

INSTANTIATE_TEST_SUITE_P(capacity, overflow, testing::Values(4U, 256U), testing::PrintToStringParamName());

// --- S11, SC-07 ---

TEST(global_share, S11_is_the_least_of_length_fair_share_and_half_a_run_queue) {
  EXPECT_EQ(global_share(1, 1, 256), 1U);
  EXPECT_EQ(global_share(3, 4, 4), 1U);
  EXPECT_EQ(global_share(3, 1, 4), 2U);
  EXPECT_EQ(global_share(1000, 4, 256), 128U);
  EXPECT_EQ(global_share(100, 4, 256), 26U) << "SC-07";
  EXPECT_EQ(global_share(3, 8, 256), 1U) << "SC-07";
  EXPECT_EQ(global_share(0, 4, 256), 0U);
}

struct share_case {
  std::size_t length;
  int procs;
  std::uint32_t capacity;
  long taken;
};

class global_batch : public testing::TestWithParam<share_case> {};

TEST_P(global_batch, S11_SC_07_the_first_runs_and_the_rest_goes_to_the_run_queue) {
  auto const [length, procs, capacity, taken] = GetParam();
  bare_sched s(procs, capacity);
  fake_gs gs(length);
  for (std::size_t i = 0; i < length; ++i) s.put_global(gs.plain(i));
  entry first;
  {
    os::lock_guard const guard(s->lock);
    first = take_global_batch_locked(test::push, *s, s.p(0)).plain;
  }
  EXPECT_EQ(number_of(first), 0);
  EXPECT_EQ(s.p(0).counters.global_takes.load(relaxed), static_cast<std::uint64_t>(taken));
  EXPECT_EQ(s->global_size.load(relaxed), length - static_cast<std::size_t>(taken));
  EXPECT_EQ(s.drain_run_queue(0), numbers(1, taken));
  EXPECT_EQ(s.drain_global(), numbers(taken, static_cast<long>(length)));
}

INSTANTIATE_TEST_SUITE_P(of, global_batch,
                         testing::Values(share_case{1, 1, 256, 1}, share_case{3, 4, 4, 1}, share_case{3, 1, 4, 2},
                                         share_case{1000, 4, 256, 128}, share_case{100, 4, 256, 26},
                                         share_case{3, 8, 256, 1}, share_case{64, 64, 256, 2}),
                         [](auto const& one) {
                           return std::to_string(one.param.length) + "_at_P" + std::to_string(one.param.procs) +
                                  "_capacity_" + std::to_string(one.param.capacity);
                         });

TEST(global_batch, S11_an_empty_queue_gives_nothing) {
  bare_sched s(2);
  os::lock_guard const guard(s->lock);
  EXPECT_FALSE(take_global_batch_locked(test::push, *s, s.p(0)));
  EXPECT_EQ(s.p(0).counters.global_takes.load(relaxed), 0U);
}

// --- S39 ---

g_list list_of(fake_gs& gs, std::size_t count) {
  g_list list;
  for (std::size_t i = 0; i < count; ++i) list.push_back(gs[i]);
  return list;
}

TEST(inject, S39_without_a_p_all_go_to_the_global_queue) {
  bare_sched s(4);
  fake_gs gs(10);
  g_list list = list_of(gs, 10);
  inject(*s, nullptr, list);
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(s.drain_global(), numbers(0, 10));
}

TEST(inject, S39_from_a_p_with_no_idle_p_all_go_to_its_own_run_queue) {
  bare_sched s(4);
  fake_gs gs(10);
  g_list list = list_of(gs, 10);
  inject(*s, &s.m(0), list);
  EXPECT_EQ(s.drain_global(), numbers(0, 0));
  EXPECT_EQ(s.drain_run_queue(0), numbers(0, 10));
}

TEST(inject, S39_from_a_p_as_many_as_are_idle_go_to_the_global_queue_with_as_many_ms_started) {
  bare_sched s(4);
  fake_gs gs(10);
  s.make_idle(1);
  s.make_idle(3);
  g_list list = list_of(gs, 10);
  inject(*s, &s.m(0), list);
  EXPECT_EQ(s.drain_global(), numbers(0, 2));
  EXPECT_EQ(s.drain_run_queue(0), numbers(2, 10));
  EXPECT_EQ(s->idle.count(), 0);
  EXPECT_TRUE(s.m(1).wake_note.is_woken());
  EXPECT_TRUE(s.m(3).wake_note.is_woken());
  EXPECT_NE(s.m(1).next_p, nullptr);
  EXPECT_NE(s.m(3).next_p, nullptr);
  EXPECT_NE(s.m(1).next_p, s.m(3).next_p);
  EXPECT_FALSE(s.m(2).wake_note.is_woken());
}

TEST(inject, S39_a_short_list_starts_no_more_ms_than_it_has_goroutines) {
  bare_sched s(4);
  fake_gs gs(1);
  for (int i = 1; i < 4; ++i) s.make_idle(i);
  g_list list = list_of(gs, 1);
  inject(*s, &s.m(0), list);
  EXPECT_EQ(s.drain_global(), numbers(0, 1));
  EXPECT_EQ(s.drain_run_queue(0), numbers(0, 0));
  EXPECT_EQ(s->idle.count(), 2);
}

TEST(inject, S39_without_a_p_the_idle_ps_are_started_too) {
  bare_sched s(3);
  fake_gs gs(10);
  s.make_idle(1);
  s.make_idle(2);
  g_list list = list_of(gs, 10);
  inject(*s, nullptr, list);
  EXPECT_EQ(s->idle.count(), 0);
  EXPECT_EQ(s.drain_global(), numbers(0, 10));
}

TEST(inject, S39_an_empty_list_is_nothing) {
  bare_sched s(2);
  s.make_idle(1);
  g_list list;
  inject(*s, &s.m(0), list);
  inject(*s, nullptr, list);
  EXPECT_EQ(s->idle.count(), 1);
  EXPECT_EQ(s.drain_global(), numbers(0, 0));
}

}  // namespace
}  // namespace thrum::rt
