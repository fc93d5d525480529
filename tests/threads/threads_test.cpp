// What starting and stopping Ms does to the idle lists.
#include "sched/threads.h"

#include "sched/wake.h"
#include "support/bare_sched.h"

#include <gtest/gtest.h>

namespace thrum {
namespace {

using rt::P;
using test::bare_sched;

TEST(idle_lists, S13_a_p_that_is_given_up_and_taken_keeps_the_count) {
  bare_sched s(3);
  s.make_idle(1);
  s.make_idle(2);
  EXPECT_EQ(s->idle.count(), 2);
  rt::os::lock_guard const guard(s->lock);
  P* const last = s->idle.take();
  EXPECT_EQ(last, &s.p(2)) << "the one that was busy last is the warmest";
  EXPECT_EQ(last->status.load(rt::relaxed), rt::p_status::running);
  EXPECT_EQ(s->idle.take(), &s.p(1));
  EXPECT_EQ(s->idle.take(), nullptr);
  EXPECT_EQ(s->idle.count(), 0);
}

TEST(idle_lists, S13_wake_one_starts_an_idle_m_as_a_spinner) {
  bare_sched s(2);
  s.make_idle(1);
  rt::start_spinning_m(*s);
  EXPECT_TRUE(s.m(1).wake_note.is_woken());
  EXPECT_TRUE(s.m(1).spinning);
  EXPECT_EQ(s.m(1).next_p, &s.p(1));
  EXPECT_EQ(s->idle.spinning(), 1);
  EXPECT_EQ(s->ms.count(rt::m_status::idle), 0);
}

TEST(idle_lists, S13_while_an_m_spins_no_other_is_woken) {
  bare_sched s(3);
  s.make_idle(1);
  ASSERT_TRUE(s->idle.try_begin_spin());
  rt::start_spinning_m(*s);
  rt::start_m_if_p_is_idle(*s);
  EXPECT_FALSE(s.m(1).wake_note.is_woken());
  EXPECT_EQ(s->idle.spinning(), 1);
}

TEST(idle_lists, S13_with_no_idle_p_the_count_of_spinners_is_taken_back) {
  bare_sched s(1);
  rt::start_spinning_m(*s);
  EXPECT_EQ(s->idle.spinning(), 0);
}

TEST(idle_lists, S15_a_p_with_work_is_handed_to_an_m_at_once) {
  bare_sched s(2);
  test::fake_gs gs(1);
  s.make_idle(1);
  {
    rt::os::lock_guard const guard(s->lock);  // P 1 stays out: only its M is needed
    static_cast<void>(s->idle.take());
  }
  static_cast<void>(s.p(0).queue.put(test::push, gs.plain(0)));
  s.m(0).p = nullptr;
  rt::hand_off(*s, s.p(0));
  EXPECT_TRUE(s.m(1).wake_note.is_woken());
  EXPECT_EQ(s.m(1).next_p, &s.p(0));
  EXPECT_FALSE(s.m(1).spinning);
  EXPECT_EQ(s->idle.count(), 0);
}

TEST(idle_lists, S15_a_p_without_work_searches_if_no_other_is_idle_or_searches) {
  bare_sched s(2);
  s.m(0).p = nullptr;
  rt::hand_off(*s, s.p(0));
  EXPECT_EQ(s->idle.spinning(), 1);
  rt::M const* const ordered = s->ms.take_orders().pop();
  ASSERT_NE(ordered, nullptr);
  EXPECT_EQ(ordered->status, rt::m_status::starting);
  EXPECT_EQ(ordered->next_p, &s.p(0));
  EXPECT_TRUE(ordered->spinning);
}

TEST(idle_lists, S15_otherwise_it_goes_to_the_idle_list) {
  bare_sched s(2);
  ASSERT_TRUE(s->idle.try_begin_spin());
  s.m(0).p = nullptr;
  rt::hand_off(*s, s.p(0));
  EXPECT_EQ(s->idle.count(), 1);
  EXPECT_EQ(s.p(0).status.load(rt::relaxed), rt::p_status::idle);
  EXPECT_EQ(s.p(0).m, nullptr);
}

TEST(idle_lists, S10_work_anywhere_sees_every_queue) {
  bare_sched s(3);
  test::fake_gs gs(3);
  EXPECT_FALSE(rt::work_anywhere(*s));
  static_cast<void>(s.p(2).queue.swap_next(test::push, gs.plain(0)));
  EXPECT_TRUE(rt::work_anywhere(*s)) << "a runnext";
  static_cast<void>(s.p(2).queue.take_next());
  static_cast<void>(s.p(1).queue.put(test::push, gs.plain(1)));
  EXPECT_TRUE(rt::work_anywhere(*s)) << "a run queue";
  static_cast<void>(s.p(1).queue.pop());
  s.put_global(gs.plain(2));
  EXPECT_TRUE(rt::work_anywhere(*s)) << "the global queue";
  EXPECT_EQ(s.drain_global().size(), 1U);
  EXPECT_FALSE(rt::work_anywhere(*s));
}

}  // namespace
}  // namespace thrum
