// The global run queue: one line for those that any M runs and those that wait for their own thread.
#include "core/global_run_queue.h"

#include <cstring>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

class global_line : public testing::Test {
 protected:
  global_line() { EXPECT_TRUE(line_.reserve(1000)); }

  entry plain() { return entry::plain(&gs_.emplace_back()); }
  entry locked() {
    G& g = gs_.emplace_back();
    g.locked_to = &m();
    return entry::locked(&g);
  }
  M& m() {
    void* const memory = ::operator new (sizeof(M), std::align_val_t{alignof(M)});
    ms_.push_back(static_cast<M*>(std::memset(memory, 0, sizeof(M))));
    return *ms_.back();
  }
  // An M that wants a P, for so many goroutines that are at home there.
  M& calling(int goroutines) {
    M& called = m();
    for (int i = 0; i < goroutines; ++i) {
      gs_.emplace_back().locked_to = &called;
      called.home_inbox.push_back(gs_.back());
      called.ready_at_home.fetch_add(1U, relaxed);
    }
    line_.call(called);
    return called;
  }
  ~global_line() override {
    for (M* const m : ms_) ::operator delete (m, std::align_val_t{alignof(M)});
  }

  global_run_queue line_;
  std::deque<G> gs_;
  std::vector<M*> ms_;
};

TEST_F(global_line, S19_both_kinds_leave_in_the_order_of_their_coming) {
  std::vector<entry> came;
  for (int i = 0; i < 100; ++i) {
    came.push_back(i % 3 == 0 || i % 7 == 0 ? locked() : plain());
    line_.push(came.back());
  }
  EXPECT_EQ(line_.size(), 100U);
  for (entry const expected : came) {
    EXPECT_EQ(line_.next_is_locked(), expected.is_locked());
    EXPECT_EQ(line_.pop(), expected);
  }
  EXPECT_TRUE(line_.empty());
  EXPECT_FALSE(line_.pop());
}

TEST_F(global_line, S19_also_when_they_come_and_go_in_turns) {
  std::deque<entry> waiting;
  for (int i = 0; i < 300; ++i) {
    waiting.push_back(i % 5 == 0 ? locked() : plain());
    line_.push(waiting.back());
    if (i % 2 == 0) {
      EXPECT_EQ(line_.pop(), waiting.front());
      waiting.pop_front();
    }
  }
  for (entry const expected : waiting) EXPECT_EQ(line_.pop(), expected);
}

TEST_F(global_line, T05_the_oldest_that_is_locked_can_be_had_before_its_turn) {
  entry const first = plain();
  entry const second = locked();
  entry const third = plain();
  entry const fourth = locked();
  for (entry const e : {first, second, third, fourth}) line_.push(e);
  EXPECT_EQ(line_.pop_locked(), second.g());
  EXPECT_EQ(line_.size(), 3U);
  for (entry const e : {first, third, fourth}) EXPECT_EQ(line_.pop(), e);
  EXPECT_EQ(line_.pop_locked(), nullptr);
}

TEST_F(global_line, T08_an_m_that_is_called_has_its_turn_among_the_others) {
  entry const first = plain();
  line_.push(first);
  M& second = calling(2);
  entry const third = locked();
  line_.push(third);
  entry const fourth = plain();
  line_.push(fourth);
  M& fifth = calling(1);
  M& sixth = calling(1);
  EXPECT_EQ(line_.size(), 6U);
  G* const resident = second.home_inbox.front();
  EXPECT_EQ(line_.pop(), first);
  EXPECT_TRUE(line_.next_is_locked());
  EXPECT_EQ(line_.pop_locked(), third.g()) << "of two with the same turn, the one whose thread sleeps in its frames";
  EXPECT_EQ(line_.first_called(), &second);
  EXPECT_EQ(line_.pop(), entry::locked(resident));
  EXPECT_FALSE(second.is_called);
  EXPECT_EQ(second.ready_at_home.load(relaxed), 1U) << "the other one is its own affair";
  line_.uncall(fifth);
  EXPECT_EQ(line_.first_called(), &sixth);
  EXPECT_EQ(line_.pop(), fourth);
  EXPECT_EQ(line_.pop_locked()->locked_to, &sixth);
  EXPECT_TRUE(line_.empty());
}

}  // namespace
}  // namespace thrum::rt
