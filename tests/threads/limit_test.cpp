// At the limit of threads (S21) an M that is on its way to rest is a thread that can be had (S13).
#include "base/atomic.h"
#include "core/m.h"
#include "core/sched.h"
#include "os/lock.h"
#include "sched/resting_ms.h"
#include "sched/threads.h"
#include "sched/wake.h"
#include "support/bare_sched.h"
#include "support/fake_gs.h"
#include "support/wait_until.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

// Two Ms, which are as many as there may be. The first one has given its P up and is about to rest. The second one runs
// a goroutine.
class at_the_limit : public testing::Test {
 protected:
  at_the_limit() {
    rt::os::lock_guard const guard(sched->lock);
    sched->idle.put(rt::release_p(first));
    sched.m(1).current = &gs[1];
  }

  bool may_start() {
    rt::os::lock_guard const guard(sched->lock);
    return may_start_m_locked(*sched);
  }
  bool takes_what_was_left() {
    rt::os::lock_guard const guard(sched->lock);
    return takes_p_left_idle_locked(first);
  }
  void set_limit(int threads) {
    rt::os::lock_guard const guard(sched->lock);
    sched->pauses.set_threads_max(threads);
  }
  void publish() {
    sched.put_global(rt::entry::plain(&gs[0]));
    EXPECT_FALSE(start_spinning_m(*sched)) << "there is no M for the idle P";
  }

  // Has the first M rest on a thread of its own. Returns whether it took a P. Otherwise it sleeps, and is told to end.
  bool first_goes_on() {
    std::atomic<bool> goes_on{false};
    std::thread its([&] { goes_on = rest_until_p(first); });
    EXPECT_TRUE(wait_until([&] { return goes_on || first.wake_note.is_slept_on(); }));
    if (!goes_on) {
      {
        rt::os::lock_guard const guard(sched->lock);
        sched->ms.dismiss(first);
      }
      first.wake_note.wake();
    }
    its.join();
    return goes_on;
  }
  void expect_that_first_searches() {
    EXPECT_TRUE(first_goes_on()) << "it sleeps beside an idle P and a goroutine that is runnable";
    EXPECT_EQ(first.p, &sched.p(0));
    EXPECT_TRUE(first.spinning);
    EXPECT_TRUE(first.watch_check_pending);
    EXPECT_EQ(sched->idle.spinning(), 1);
  }

  bare_sched sched{rt::settings{.procs = 2, .threads_max = 2, .detect_deadlock = false}};
  rt::M& first = sched.m(0);
  fake_gs gs{2};
};

TEST_F(at_the_limit, S21_a_p_stays_idle_for_an_m_that_is_about_to_rest) { EXPECT_FALSE(may_start()); }

TEST_F(at_the_limit, S21_the_program_ends_if_no_thread_will_come) {
  first.current = &gs[0];  // it is in a system call
  EXPECT_TRUE(may_start());
}

TEST_F(at_the_limit, S21_the_thread_of_main_does_not_count) {
  rt::M m0(*sched, 0);
  {
    rt::os::lock_guard const guard(sched->lock);
    sched->ms.add(m0);
    sched->ms.has_started(m0);
  }
  first.current = &gs[0];
  EXPECT_TRUE(may_start());
}

TEST_F(at_the_limit, S13_S21_an_m_that_is_about_to_rest_finds_what_no_m_was_found_for) {
  publish();
  expect_that_first_searches();
}

TEST_F(at_the_limit, S13_S21_the_same_beside_a_thread_without_a_p) {
  sched->unannounced.p_is_taken();
  publish();
  expect_that_first_searches();
}

TEST_F(at_the_limit, S13_S21_it_rests_if_nothing_was_left) { EXPECT_FALSE(first_goes_on()); }

TEST_F(at_the_limit, S13_S21_it_leaves_what_an_m_that_searches_will_find) {
  publish();
  sched->idle.begin_spin(sched.m(1));
  EXPECT_FALSE(takes_what_was_left());
  sched->idle.end_spin(sched.m(1));
  EXPECT_TRUE(takes_what_was_left());
}

// The thread that published relied on it, and another thread may have ended meanwhile.
TEST_F(at_the_limit, S13_S21_it_looks_also_if_the_limit_is_no_longer_reached) {
  publish();
  set_limit(3);
  EXPECT_TRUE(takes_what_was_left());
}

// Below the limit each thread that publishes something finds an M.
TEST_F(at_the_limit, S13_it_does_not_look_if_no_p_was_left_idle_for_it) {
  set_limit(3);
  sched.put_global(rt::entry::plain(&gs[0]));
  EXPECT_FALSE(takes_what_was_left());
}

}  // namespace
}  // namespace thrum::test
