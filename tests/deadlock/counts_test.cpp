// S20: what would mean that the scheduler itself is wrong has messages of its own.
#include "sched/deadlock.h"
#include "sched/queues.h"
#include "support/fake_gs.h"
#include "support/fatal.h"

#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

// What waits in the global queue, and whether a thread that is no M has just made it runnable.
enum class work : std::uint8_t { none, waits, comes_from_helper };

class deadlock_counts : public test::fatal_test {
 protected:
  // All Ps are idle, and so many of the Ms rest.
  static void check(int resting, int all, work queued) {
    Sched s(settings{.procs = 2});
    std::optional<stack_waiters::helper> helper;
    if (queued == work::comes_from_helper) helper.emplace(s.stack_waiters);
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
    if (queued != work::none) {
      ASSERT_TRUE(s.global_queue.reserve(1));
      put_global_locked(test::push, s, gs.plain(0));
    }
    check_deadlock_locked(s);
  }
};

TEST_F(deadlock_counts, S20_a_runnable_goroutine_while_no_thread_is_awake_is_its_own_message) {
  EXPECT_FATAL(check(3, 3, work::waits), "internal error: all threads are asleep although a goroutine is runnable");
}

TEST_F(deadlock_counts, S20_as_long_as_a_thread_is_awake_nothing_is_said) {
  check(2, 3, work::none);
  check(2, 3, work::waits);
}

// sysmon has given a stack to a goroutine that waited for one, and is about to start an M. Meanwhile the last M comes
// to rest.
TEST_F(deadlock_counts, T10_a_goroutine_that_sysmon_has_just_given_a_stack_to_is_no_internal_error) {
  check(3, 3, work::comes_from_helper);
}

}  // namespace
}  // namespace thrum::rt
