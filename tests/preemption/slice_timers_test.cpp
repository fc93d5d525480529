// The timers by which sysmon asks a thread to end its slice (sys/slices.h). The tests show what sysmon does when the
// timers fail, and that a failure is not remembered for good. The test acts as the scheduler: there is one P, and its M
// is a thread of the test that computes.
#include "core/current.h"
#include "os/clock.h"
#include "os/pause_signal.h"
#include "os/thread.h"
#include "support/bare_sched.h"
#include "support/child.h"
#include "support/hogs.h"
#include "support/wait_until.h"
#include "sys/preempt.h"
#include "sys/slices.h"

#include <atomic>
#include <fstream>
#include <memory>
#include <optional>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <ucontext.h>

namespace thrum::test {
namespace {

std::atomic<rt::M*> answers{nullptr};  // whose handler runs count as answers; nullptr: none do
std::atomic<int> signals_taken{0};

void on_request(void const*) noexcept {
  ++signals_taken;
  if (rt::M* const m = answers) m->pause.note_answer();
}

class one_busy_thread {
 public:
  one_busy_thread() : sched_({.procs = 1, .detect_deadlock = false, .slice_ns = rt::os::tick_ns()}), gs_(1) {
    EXPECT_EQ(rt::os::install_pause_signal(SIGURG, on_request), 0);
    std::atomic<int> tid{0};
    thread_ = std::thread([&] {
      tid = rt::os::current_tid();
      while (!stop_) rt::cpu_relax();
    });
    while (tid == 0) std::this_thread::yield();
    sched_.m(0).tid = tid;
    sched_.put_global(gs_.plain(0));  // a goroutine that wants the P
    watch_.emplace(*sched_, reports_);
  }

  ~one_busy_thread() {
    watch_->close();
    stop_ = true;
    thread_.join();
    answers = nullptr;
    static_cast<void>(sched_.drain_global());
    EXPECT_EQ(rt::os::remove_pause_signal(rt::os::still_sent::no), 0);
  }

  rt::M& m() { return sched_.m(0); }
  rt::sightings::time_slice& seen() { return sched_.p(0).seen.slice; }
  std::uint64_t asked() { return sched_->sysmon.preemptions_asked.load(rt::relaxed); }

  // Looks until `holds`.
  template <class F>
  [[nodiscard]] bool look_until(F holds) {
    return spin_until([&] {
      look();
      return holds();
    });
  }
  void look() { static_cast<void>(watch_->look(rt::os::monotonic_ns() + later_ns_)); }
  void let_time_pass(std::int64_t ns) { later_ns_ += ns; }

  // A new slice in which the thread is asked once. True: by a timer.
  bool is_asked_by_timer() {
    sched_.p(0).tick();
    look();
    std::uint64_t const before = asked();
    EXPECT_TRUE(look_until([&] { return asked() != before; }));
    return seen().asked_by_timer;
  }

 private:
  bare_sched sched_;
  fake_gs gs_;
  rt::report_text reports_;
  std::optional<rt::slice_watch> watch_;
  std::thread thread_;
  std::atomic<bool> stop_{false};
  std::int64_t later_ns_ = 0;
};

TEST(slice_timers, one_that_is_not_answered_is_followed_by_a_signal) {
  if (emulated()) GTEST_SKIP() << "the emulator has no such timers";
  one_busy_thread busy;
  ASSERT_TRUE(busy.is_asked_by_timer());
  EXPECT_TRUE(busy.look_until([&] { return busy.asked() == 2; }));
  EXPECT_FALSE(busy.seen().asked_by_timer);
}

TEST(slice_timers, a_few_without_answer_among_many_with_one_do_not_end_their_use) {
  if (emulated()) GTEST_SKIP() << "the emulator has no such timers";
  one_busy_thread busy;
  for (int i = 0; i < 20; ++i) {
    answers = nullptr;
    ASSERT_TRUE(busy.is_asked_by_timer()) << "after " << i << " without answer";
    ASSERT_TRUE(busy.look_until([&] { return !busy.seen().asked_by_timer; }));
    answers = &busy.m();
    ASSERT_TRUE(busy.is_asked_by_timer()) << "after " << i << " with an answer";
    // The signal that followed the timer without an answer may be answered before this timer was set.
    std::uint32_t const when_set = busy.seen().answers_seen;
    ASSERT_TRUE(spin_until([&] { return busy.m().pause.answers() != when_set; }));
  }
}

TEST(slice_timers, that_are_never_answered_are_given_up_and_tried_again_later) {
  if (emulated()) GTEST_SKIP() << "the emulator has no such timers";
  one_busy_thread busy;
  int used = 0;
  for (; used < 100 && busy.is_asked_by_timer(); ++used) {
    ASSERT_TRUE(busy.look_until([&] { return !busy.seen().asked_by_timer; }));
  }
  EXPECT_LT(used, 100);
  busy.let_time_pass(60'000'000'000);
  EXPECT_TRUE(busy.is_asked_by_timer());
}

// While it lives no signal can be queued with its data, and no timer be made.
class no_room_for_signals {
 public:
  no_room_for_signals() {
    EXPECT_EQ(::getrlimit(RLIMIT_SIGPENDING, &before_), 0);
    rlimit none = before_;
    none.rlim_cur = 0;
    EXPECT_EQ(::setrlimit(RLIMIT_SIGPENDING, &none), 0);
  }
  ~no_room_for_signals() { EXPECT_EQ(::setrlimit(RLIMIT_SIGPENDING, &before_), 0); }
  no_room_for_signals(no_room_for_signals const&) = delete;
  no_room_for_signals& operator=(no_room_for_signals const&) = delete;

 private:
  rlimit before_{};
};

TEST(slice_timers, that_cannot_be_made_for_a_moment_are_used_again_later) {
  if (emulated()) GTEST_SKIP() << "the emulator has no such timers";
  one_busy_thread busy;
  {
    no_room_for_signals const none;
    EXPECT_FALSE(busy.is_asked_by_timer()) << "a signal ends the slice instead";
  }
  busy.let_time_pass(60'000'000'000);
  EXPECT_TRUE(busy.is_asked_by_timer());
}

TEST(slice_timers, T04_a_thread_is_asked_only_when_it_was_seen_to_compute) {
  if (emulated()) GTEST_SKIP() << "the emulator has no such timers";
  one_busy_thread busy;
  busy.look();
  busy.let_time_pass(3 * rt::os::tick_ns());  // the slice is over, and this is the first look at what its thread does
  busy.look();
  EXPECT_EQ(busy.asked(), 0U);
  EXPECT_TRUE(busy.look_until([&] { return busy.asked() != 0; }));
}

TEST(slice_timers, T04_where_none_can_be_made_no_signal_comes_at_the_same_look) {
  if (emulated()) GTEST_SKIP() << "the emulator has no such timers";
  one_busy_thread busy;
  no_room_for_signals const none;
  EXPECT_TRUE(busy.look_until([&] { return busy.seen().timer_failed; }));
  EXPECT_EQ(busy.asked(), 0U);
  EXPECT_TRUE(busy.look_until([&] { return busy.asked() != 0; }));
}

// On its way to the next goroutine, too: else sysmon would take the timer for one that did not fire.
TEST(slice_timers, a_request_that_meets_the_scheduler_is_answered) {
  bare_sched sched(1);
  rt::M& m = sched.m(0);
  ASSERT_EQ(m.current, nullptr);
  ucontext_t where{};
  ASSERT_EQ(::getcontext(&where), 0);
  rt::M* const before = rt::current_m();
  rt::set_current_m(&m);
  rt::answer_pause_signal(&where);
  rt::set_current_m(before);
  EXPECT_EQ(m.pause.answers(), 1U);
}

// The number of a thread that has ended is given to a new one.
TEST(slice_timers, a_timer_is_made_anew_for_a_thread_with_the_number_of_another) {
  if (emulated()) GTEST_SKIP() << "the emulator has no such timers";
  ASSERT_EQ(rt::os::install_pause_signal(SIGURG, on_request), 0);
  rt::os::pause_timer timer;
  int tid = 0;
  std::thread([&] {
    tid = rt::os::current_tid();
    EXPECT_TRUE(timer.send_at_next_tick(tid));
  }).join();
  bool was_reused = false;
  for (int i = 0; i < 1000 && !was_reused; ++i) {
    if (!(std::ofstream("/proc/sys/kernel/ns_last_pid") << tid - 1 << std::flush)) break;
    std::thread([&] {
      was_reused = rt::os::current_tid() == tid;
      if (!was_reused) return;
      int const before = signals_taken;
      EXPECT_TRUE(timer.send_at_next_tick(tid));
      EXPECT_TRUE(spin_until([&] { return signals_taken != before; }));
    }).join();
  }
  timer.close();
  EXPECT_EQ(rt::os::remove_pause_signal(rt::os::still_sent::no), 0);
  if (!was_reused) GTEST_SKIP() << "the kernel does not let this process choose the number of a thread";
}

}  // namespace
}  // namespace thrum::test
