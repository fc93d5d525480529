// The global run queue: one line for those that any M runs and those that wait for their own thread.
#include "core/global_run_queue.h"

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
    ms_.push_back(static_cast<M*>(::operator new (sizeof(M), std::align_val_t{alignof(M)})));
    g.locked_to = ms_.back();
    return entry::locked(&g);
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

}  // namespace
}  // namespace thrum::rt
