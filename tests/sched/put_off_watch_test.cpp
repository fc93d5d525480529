// What sysmon does about wake-ups that were put off (sys/put_off_watch.h).
#include "sys/put_off_watch.h"

#include "os/clock.h"
#include "support/bare_sched.h"

#include <algorithm>
#include <cstdint>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

// An idle P for which no thread can be had: its M is away with a goroutine, and there is no other M.
class without_a_thread {
 public:
  without_a_thread() {
    {
      rt::os::lock_guard const guard(sched->lock);
      sched.m(1).p = nullptr;
      sched->idle.put(sched.p(1));
    }
    sched->unannounced.p_is_taken();  // the M will come, so no thread is made for the P
  }

  // sysmon looks at what the other P has put off. The P stays idle, and the looks become rare.
  void expect_rare_looks() {
    rt::put_off_watch watch(*sched);
    constexpr int looks = 40;
    std::int64_t slept_ns = 0;
    for (int i = 0; i < looks; ++i) {
      watch.look(rt::os::monotonic_ns() + slept_ns);
      slept_ns += watch.nap_ns(10'000'000);
    }
    EXPECT_EQ(sched->idle.count(), 1);
    EXPECT_GE(slept_ns / looks, 1'000'000);
  }

  bare_sched sched{{.procs = 2, .threads_max = 2, .detect_deadlock = false}};
};

TEST(put_off_watch, looks_less_often_while_no_thread_can_be_had_for_an_idle_p) {
  without_a_thread idle;
  rt::P& p = idle.sched.p(0);
  fake_gs gs(1);
  static_cast<void>(p.queue.swap_next(test::push, gs.plain(0)));
  idle.expect_rare_looks();
  static_cast<void>(p.queue.take_next());
}

TEST(put_off_watch, looks_less_often_while_no_thread_can_be_had_to_watch_a_timer) {
  without_a_thread idle;
  rt::P& p = idle.sched.p(0);
  fake_gs gs(1);
  ASSERT_TRUE(p.timers.reserve(1));
  static_cast<void>(p.timers.add(gs[0], rt::os::monotonic_ns()));
  idle.expect_rare_looks();
}

// A P with a goroutine in its runnext that it does not come to, beside an idle P whose M is away.
class beside_an_idle_p {
 public:
  beside_an_idle_p() {
    rt::os::lock_guard const guard(sched->lock);
    sched.m(1).p = nullptr;
    sched->idle.put(sched.p(1));
    EXPECT_TRUE(sched->idle.try_begin_spin());  // so that no M is started
  }
  ~beside_an_idle_p() {
    rt::os::lock_guard const guard(sched->lock);
    sched->idle.take_back_spin();
  }

  // sysmon finds the goroutine there at two looks. Returns how many wake-ups the P does not put off after that.
  std::uint32_t caution_after_mistake() {
    static_cast<void>(sched.p(0).queue.swap_next(test::push, gs.plain(0)));
    watch.look(rt::os::monotonic_ns());
    watch.look(rt::os::monotonic_ns());
    static_cast<void>(sched.p(0).queue.take_next());
    watch.look(rt::os::monotonic_ns());
    return sched.p(0).wakes_at_once.exchange(0, rt::relaxed);
  }

  bare_sched sched{rt::settings{.procs = 2, .detect_deadlock = false}};
  fake_gs gs{1};
  rt::put_off_watch watch{*sched};
};

TEST(put_off_watch, mistakes_that_follow_each_other_make_a_p_cautious_for_longer) {
  beside_an_idle_p a;
  std::uint32_t before = a.caution_after_mistake();
  for (int i = 0; i < 10; ++i) {
    std::uint32_t const now = a.caution_after_mistake();
    EXPECT_EQ(now, std::min(2 * before, 1024U));
    before = now;
  }
}

TEST(put_off_watch, a_mistake_after_many_wake_ups_without_one_makes_a_p_cautious_for_a_few_only) {
  beside_an_idle_p a;
  for (int i = 0; i < 10; ++i) static_cast<void>(a.caution_after_mistake());
  rt::count(a.sched.p(0).counters.readies, 20'000);
  EXPECT_EQ(a.caution_after_mistake(), 16U);
}

TEST(put_off_watch, looks_again_within_some_hundred_microseconds_while_a_goroutine_waits) {
  beside_an_idle_p a;
  static_cast<void>(a.sched.p(0).queue.swap_next(test::push, a.gs.plain(0)));
  for (int i = 0; i < 10; ++i) {
    EXPECT_LE(a.watch.nap_ns(10'000'000), 250'000);
    a.watch.look(rt::os::monotonic_ns());
  }
  static_cast<void>(a.sched.p(0).queue.take_next());
}

TEST(put_off_watch, is_kept_awake_until_the_time_that_was_asked_for) {
  bare_sched sched(2);
  rt::put_off_watch watch(*sched);
  std::int64_t const now_ns = rt::os::monotonic_ns();
  watch.look(now_ns);
  EXPECT_EQ(watch.nap_ns(10'000'000), 10'000'000);
  watch.keep_awake_until(now_ns + 1'000'000);
  watch.look(now_ns + 999'999);
  EXPECT_LE(watch.nap_ns(10'000'000), 250'000);
  watch.look(now_ns + 1'000'000);
  EXPECT_EQ(watch.nap_ns(10'000'000), 10'000'000);
}

}  // namespace
}  // namespace thrum::test
