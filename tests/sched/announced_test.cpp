// A goroutine that is put into the global queue is announced to an idle P, also by an M that keeps its own P and
// searches next, because what that M finds may run for long. On a scheduler that does not run.
#include "sched/find_runnable.h"
#include "sched/make_way.h"
#include "support/bare_sched.h"
#include "support/fake_gs.h"

#include <memory>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

using test::bare_sched;
using test::fake_gs;
using test::numbers;

// P 1 is idle beside P 0, and its M rests.
class announced : public testing::Test {
 protected:
  announced() {
    s_.make_idle(1);
    gs_[0].status.store(g_status::runnable, relaxed);
  }

  void expect_in_the_global_queue_and_p1_woken() {
    EXPECT_EQ(s_->idle.count(), 0);
    EXPECT_TRUE(s_.m(1).wake_note.is_woken());
    EXPECT_EQ(s_.m(1).next_p, &s_.p(1));
    EXPECT_EQ(s_.m(0).p, &s_.p(0)) << "which it keeps";
    EXPECT_EQ(s_.drain_global(), numbers(0, 1));
  }

  bare_sched s_{2};
  fake_gs gs_{1};
};

// The goroutine came with the P, but the P has another request to serve first.
TEST_F(announced, a_goroutine_that_was_brought_to_a_p_with_requests) {
  m_pool::bring(s_.m(0), gs_[0]);
  s_.p(0).attention.store(attend::stopping, relaxed);  // the search ends here
  EXPECT_EQ(find_runnable(s_.m(0)).g, nullptr);
  EXPECT_EQ(s_.m(0).brought, nullptr);
  expect_in_the_global_queue_and_p1_woken();
}

TEST_F(announced, a_goroutine_that_cannot_make_way_while_the_world_is_to_stop) {
  s_.p(0).attention.store(attend::stop_world, relaxed);
  home_move its{home_move::move_target::m_without_residents};
  commit_move(s_.m(0), gs_[0], &its);
  EXPECT_FALSE(its.no_thread);
  expect_in_the_global_queue_and_p1_woken();
}

// A new thread would be needed, because the only M that rests is home to others. It cannot be made while a goroutine is
// paused that may hold a lock of the C library.
TEST_F(announced, a_goroutine_that_cannot_make_way_until_a_paused_one_has_gone_on) {
  auto const paused = std::make_unique<M>(*s_, 3);
  {
    os::lock_guard const guard(s_->lock);
    s_->ms.add(*paused);
    s_->ms.has_started(*paused);
    s_->ms.queue(*paused, m_status::paused_in_libc);
  }
  s_.m(1).residents.add();
  home_move its{home_move::move_target::m_without_residents};
  commit_move(s_.m(0), gs_[0], &its);
  EXPECT_FALSE(its.no_thread);
  EXPECT_TRUE(s_->pauses.spare_is_ordered()) << "for the next try";
  expect_in_the_global_queue_and_p1_woken();
}

}  // namespace
}  // namespace thrum::rt
