// Which thread watches a timer when Ps change hands, on a scheduler that does not run.
#include "os/clock.h"
#include "sched/queues.h"
#include "sched/timekeeper.h"
#include "sched/wake.h"
#include "support/bare_sched.h"
#include "support/fake_gs.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

using test::bare_sched;
using test::fake_gs;

// Sets a timer of P 0 without a check whether it is watched. sysmon sleeps for long.
std::int64_t set_timer(bare_sched& s, G& sleeper) {
  EXPECT_TRUE(s.p(0).timers.reserve(1));
  sleeper.status.store(g_status::waiting, relaxed);
  std::int64_t const when_ns = os::monotonic_ns() + 1'000'000;
  static_cast<void>(s.p(0).timers.add(sleeper, when_ns));
  s->sysmon.will_look_by(never_ns);
  return when_ns;
}

// Puts P `number` into the idle list. Its M is away.
void make_idle_without_m(bare_sched& s, int number) {
  os::lock_guard const guard(s->lock);
  s.m(number).p = nullptr;
  s->idle.put(s.p(number));
}

// The M that sets a timer has seen an idle P, which is taken before the M gets the lock.
TEST(watch, S27_sysmon_is_told_of_a_timer_if_the_last_idle_p_is_taken_meanwhile) {
  bare_sched s(2);
  fake_gs gs(1);
  std::int64_t const when_ns = set_timer(s, gs[0]);
  EXPECT_FALSE(ensure_timers_are_watched(*s));
  EXPECT_EQ(s->sysmon.looks_by_ns(), when_ns);
}

TEST(watch, S27_where_a_p_changes_hands_sysmon_is_told_of_the_timers_if_no_p_is_idle) {
  bare_sched s(2);
  fake_gs gs(1);
  std::int64_t const when_ns = set_timer(s, gs[0]);
  EXPECT_FALSE(ensure_all_is_watched(*s));
  EXPECT_EQ(s->sysmon.looks_by_ns(), when_ns);
}

// The M may find work, so that no P is idle then.
TEST(watch, S27_an_m_that_is_started_to_search_owes_a_look_at_the_timers) {
  bare_sched s(2);
  fake_gs gs(1);
  s.make_idle(1);
  std::int64_t const when_ns = set_timer(s, gs[0]);
  EXPECT_TRUE(ensure_timers_are_watched(*s));
  ASSERT_TRUE(s.m(1).spinning);
  ASSERT_TRUE(s.m(1).watch_check_pending);
  acquire_p(s.m(1), s.p(1));
  s->idle.end_spin(s.m(1));
  do_pending_watch_check(s.m(1));
  EXPECT_EQ(s->sysmon.looks_by_ns(), when_ns);
}

// No M rests, so the P goes to the thread of a goroutine that was paused, which watches nothing.
TEST(watch, S27_a_p_that_goes_to_a_paused_goroutine_does_not_end_the_watch) {
  bare_sched s(3);
  fake_gs gs(2);
  make_idle_without_m(s, 1);
  make_idle_without_m(s, 2);
  std::int64_t const when_ns = set_timer(s, gs[0]);
  G& paused = gs[1];
  paused.only_m = &s.m(1);
  {
    os::lock_guard const guard(s->lock);
    s->ms.queue(s.m(1), m_status::paused);
    put_global_locked(test::push, *s, entry::on_own_thread(&paused));
  }
  EXPECT_TRUE(ensure_timers_are_watched(*s));
  EXPECT_TRUE(s.m(1).wake_note.is_woken());
  EXPECT_EQ(s->idle.count(), 0) << "an M is made for the other P, and will watch";
  EXPECT_EQ(s->idle.spinning(), 1);
  static_cast<void>(when_ns);
}

}  // namespace
}  // namespace thrum::rt
