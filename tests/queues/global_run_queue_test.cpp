// The global run queue: one line for those that any M runs and those that wait for their own thread.
#include "core/global_run_queue.h"

#include "core/sched.h"
#include "support/push_key.h"

#include <deque>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

class global_line : public testing::Test {
 protected:
  global_line() { EXPECT_TRUE(line_.reserve(1000)); }

  entry plain() { return entry::plain(&gs_.emplace_back()); }
  entry on_own_thread() {
    G& g = gs_.emplace_back();
    g.only_m = &m();
    return entry::on_own_thread(&g);
  }
  M& m() { return *s_.ms.make(s_); }
  // An M that wants a P, for goroutines that are at home there.
  M& wanting_p_for_residents() {
    M& home = m();
    s_.ms.has_started(home);
    s_.ms.rest(home, 0);
    line_.queue_for_residents(home);
    return home;
  }
  // What has its turn: the goroutine of an entry, or the M that stands for a goroutine on its own thread.
  static void const* who_is(entry e) {
    return e.is_on_own_thread() ? static_cast<void const*>(e.g()->only_m) : static_cast<void const*>(e.g());
  }
  void const* pop() {
    return line_.next_is_m() ? static_cast<void const*>(line_.pop_m())
                             : static_cast<void const*>(line_.pop_plain().g());
  }

  Sched s_{settings{.procs = 1}};
  global_size size_;
  global_run_queue line_{size_};
  std::deque<G> gs_;
};

TEST_F(global_line, S19_both_kinds_leave_in_the_order_of_their_coming) {
  std::vector<entry> came;
  for (int i = 0; i < 100; ++i) {
    came.push_back(i % 3 == 0 || i % 7 == 0 ? on_own_thread() : plain());
    line_.push(test::push, came.back());
  }
  EXPECT_EQ(line_.size(), 100U);
  for (entry const expected : came) {
    EXPECT_EQ(line_.next_is_m(), expected.is_on_own_thread());
    EXPECT_EQ(pop(), who_is(expected));
  }
  EXPECT_TRUE(line_.empty());
  EXPECT_EQ(pop(), nullptr);
}

TEST_F(global_line, S19_also_when_they_come_and_go_in_turns) {
  std::deque<entry> waiting;
  for (int i = 0; i < 300; ++i) {
    waiting.push_back(i % 5 == 0 ? on_own_thread() : plain());
    line_.push(test::push, waiting.back());
    if (i % 2 == 0) {
      EXPECT_EQ(pop(), who_is(waiting.front()));
      waiting.pop_front();
    }
  }
  for (entry const expected : waiting) EXPECT_EQ(pop(), who_is(expected));
}

TEST_F(global_line, T05_the_oldest_that_is_locked_can_be_had_before_its_turn) {
  entry const first = plain();
  entry const second = on_own_thread();
  entry const third = plain();
  entry const fourth = on_own_thread();
  for (entry const e : {first, second, third, fourth}) line_.push(test::push, e);
  EXPECT_EQ(line_.pop_m(), second.g()->only_m);
  EXPECT_EQ(line_.size(), 3U);
  for (entry const e : {first, third, fourth}) EXPECT_EQ(pop(), who_is(e));
  EXPECT_EQ(line_.pop_m(), nullptr);
}

TEST_F(global_line, T08_an_m_that_wants_a_p_for_its_residents_has_its_turn_among_the_others) {
  entry const first = plain();
  line_.push(test::push, first);
  M& second = wanting_p_for_residents();
  entry const third = on_own_thread();
  line_.push(test::push, third);
  entry const fourth = plain();
  line_.push(test::push, fourth);
  M& fifth = wanting_p_for_residents();
  M& sixth = wanting_p_for_residents();
  EXPECT_EQ(line_.size(), 6U);
  EXPECT_EQ(pop(), who_is(first));
  EXPECT_TRUE(line_.next_is_m());
  EXPECT_EQ(line_.pop_m(), third.g()->only_m) << "of two with the same turn, the one whose thread sleeps in its frames";
  EXPECT_EQ(line_.first_for_residents(), &second);
  EXPECT_TRUE(second.wants_p);
  EXPECT_EQ(pop(), &second);
  EXPECT_FALSE(second.wants_p);
  line_.withdraw(fifth);
  EXPECT_EQ(line_.first_for_residents(), &sixth);
  EXPECT_EQ(pop(), who_is(fourth));
  EXPECT_EQ(line_.pop_m(), &sixth);
  EXPECT_TRUE(line_.empty());
}

// An M that leaves from the middle leaves the others in their order.
TEST_F(global_line, T08_an_m_that_leaves_the_queue_leaves_the_others_in_their_order) {
  M& first = wanting_p_for_residents();
  M& second = wanting_p_for_residents();
  M& third = wanting_p_for_residents();
  line_.withdraw(second);
  EXPECT_EQ(pop(), &first);
  M& fourth = wanting_p_for_residents();
  EXPECT_EQ(pop(), &third);
  EXPECT_EQ(pop(), &fourth);
  EXPECT_EQ(pop(), nullptr);
}

}  // namespace
}  // namespace thrum::rt
