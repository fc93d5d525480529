// S20: what would mean that the scheduler itself is wrong has messages of its own.
#include "sched/deadlock.h"
#include "sched/queues.h"
#include "support/fake_gs.h"
#include "support/fatal.h"

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

class deadlock_counts : public test::fatal_test {
 protected:
  // All Ps are idle, and so many of the Ms rest.
  static void check(int resting, int all, bool with_work) {
    Sched s(settings{.procs = 2});
    test::fake_gs gs(1);
    os::lock_guard const guard(s.lock);
    for (P* const p : s.procs) {
      p->transition(p_status::stopped, p_status::running);
      s.idle.put(*p);
    }
    for (int i = 0; i < all; ++i) {
      M* const m = s.ms.make(s);
      s.ms.has_started(*m);
      if (i < resting) s.ms.rest(*m, 0);
    }
    if (with_work) {
      ASSERT_TRUE(s.global_queue.reserve(1));
      put_global_locked(test::push, s, gs.plain(0));
    }
    check_deadlock_locked(s);
  }
};

TEST_F(deadlock_counts, S20_a_runnable_goroutine_while_no_thread_is_awake_is_its_own_message) {
  EXPECT_FATAL(check(3, 3, true), "internal error: all threads are asleep although a goroutine is runnable");
}

TEST_F(deadlock_counts, S20_as_long_as_a_thread_is_awake_nothing_is_said) {
  check(2, 3, false);
  check(2, 3, true);
}

}  // namespace
}  // namespace thrum::rt
