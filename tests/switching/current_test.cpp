// CP-01: the current M and goroutine are right after a move to another thread.
#include "core/current.h"

#include "core/p.h"
#include "os/thread.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/go.h>
#include <thrum/wait_group.h>

#include <atomic>
#include <cstdint>

#include <gtest/gtest.h>

namespace thrum {
namespace {

TEST(current, T09_threads_that_are_not_ours_have_no_m) { EXPECT_EQ(rt::current_m(), nullptr); }

TEST(current, T09_the_m_is_the_one_of_this_thread) {
  test::run_at(2, [] {
    rt::M const* const m = rt::current_m();
    ASSERT_NE(m, nullptr);
    EXPECT_EQ(m->tid, rt::os::current_tid());
    EXPECT_EQ(m->current->id, this_goroutine::id());
    EXPECT_EQ(m->p->m, m);
  });
  EXPECT_EQ(rt::current_m(), nullptr);
}

// Forces a move: the waker runs on another thread, readies the goroutine there and ends at once.
TEST(moves, CP_01_current_is_right_when_a_waker_on_another_thread_takes_the_goroutine_over) {
  test::run_at(2, [] {
    wait_group all;
    all.go([] {
      rt::G const& self = *rt::current_m()->current;
      std::int64_t moved = 0;
      EXPECT_TRUE(test::wait_until([&] {
        int const before = rt::os::current_tid();
        std::atomic<bool> started{false};
        wait_group woken;
        woken.add(1);
        thrum::go([&] {
          started = true;
          while (self.status.load(rt::acquire) != rt::g_status::waiting) rt::os::yield_thread();
          woken.done();
        });
        EXPECT_TRUE(test::spin_until([&] { return started.load(); })) << "the other P takes it";
        woken.wait();
        EXPECT_EQ(rt::current_m()->tid, rt::os::current_tid());
        EXPECT_EQ(rt::current_m()->current, &self);
        if (rt::os::current_tid() != before) ++moved;
        return moved == 10;
      }));
    });
    all.wait();
  });
}

TEST(moves, T02_main_leaves_the_first_thread_when_it_first_waits_and_run_returns_there) {
  int const caller = rt::os::current_tid();
  test::run_at(1, [&] {
    EXPECT_EQ(rt::os::current_tid(), caller);
    EXPECT_EQ(rt::current_m()->id, 0);
    wait_group all;
    all.go([&] { EXPECT_NE(rt::os::current_tid(), caller) << "M0 runs only main"; });
    all.wait();
    EXPECT_NE(rt::os::current_tid(), caller);
    EXPECT_NE(rt::current_m()->id, 0);
  });
  EXPECT_EQ(rt::os::current_tid(), caller);
}

}  // namespace
}  // namespace thrum
