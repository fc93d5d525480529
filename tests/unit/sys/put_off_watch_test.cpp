// What sysmon does about wake-ups that were put off (sys/put_off_watch.h).
#include "sys/put_off_watch.h"

#include "os/clock.h"
#include "support/bare_sched.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

TEST(put_off_watch, looks_less_often_while_no_thread_can_be_had_for_an_idle_p) {
  bare_sched sched({.procs = 2, .threads_max = 2, .detect_deadlock = false});
  {
    rt::os::lock_guard const guard(sched->lock);
    sched.m(1).p = nullptr;
    rt::put_idle_p(*sched, sched.p(1));  // its M is away, and there is no other
  }
  sched->ms_without_p.store(1, rt::relaxed);  // it has a goroutine, and will come: no thread is made for the P
  fake_gs gs(1);
  static_cast<void>(sched.p(0).queue.swap_next(gs.plain(0)));
  rt::put_off_watch watch(*sched);
  constexpr int looks = 40;
  std::int64_t slept_ns = 0;
  for (int i = 0; i < looks; ++i) {
    watch.look(rt::os::monotonic_ns() + slept_ns);
    slept_ns += watch.nap_ns(10'000'000);
  }
  EXPECT_EQ(sched->idle_procs.load(rt::relaxed), 1);
  EXPECT_GE(slept_ns / looks, 1'000'000);
  static_cast<void>(sched.p(0).queue.take_next());
}

}  // namespace
}  // namespace thrum::test
