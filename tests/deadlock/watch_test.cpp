// The check for a deadlock is repeated while only a thread that the runtime does not know prevents the report
// (sys/deadlock_watch.h), and sysmon sleeps in all other quiet situations (T13, S16, S20).
#include "core/current.h"
#include "deadlock/deadlock.h"
#include "os/clock.h"
#include "os/fault.h"
#include "os/lock.h"
#include "sched/deadlock.h"
#include "support/gate.h"
#include "support/goroutines.h"
#include "support/kept.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/straggler.h"
#include "support/wait_until.h"
#include "sys/deadlock_watch.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <thread>

#include <errno.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

// Whether all goroutines sleep and all Ms rest. The last M to rest has checked for a deadlock under the same lock.
bool was_checked(rt::Sched& s) {
  rt::os::lock_guard const guard(s.lock);
  return s.idle.all_idle() && s.ms.none_can_run_by_itself();
}

void wait_for_check(rt::Sched& s) {
  if (!wait_until([&] { return was_checked(s); })) ::_exit(8);
}

// Starts a thread that ends when the check was made, and never calls thrum.
void begin_thread_that_outlives_the_check() {
  std::thread([&s = this_sched()] { wait_for_check(s); }).detach();
}

// --- what is found by a later check ---

class repeated_check : public deadlock_test {};

TEST_F(repeated_check, T13_S20_a_deadlock_is_found_when_the_last_unknown_thread_ends_later) {
  for (int const procs : {1, 4}) {
    EXPECT_FATAL(thrum::run(
                     [] {
                       begin_thread_that_outlives_the_check();
                       wait_for_ever();
                     },
                     {.max_procs = procs}),
                 "^thrum: " DEADLOCK "goroutine 1 \\[waiting: wait group\\]");
  }
}

TEST_F(repeated_check, T13_DL04_also_if_a_timer_had_no_receiver_and_fired_before_the_thread_ends) {
  EXPECT_FATAL(thrum::run(
                   [] {
                     auto const unread = after(20ms);
                     begin_thread_that_outlives_the_check();
                     wait_for_ever();
                   },
                   {.max_procs = 2}),
               DEADLOCK "goroutine 1 \\[waiting: wait group\\]");
}

TEST_F(repeated_check, T13_S20_an_on_panic_function_of_an_earlier_run_waits_after_the_run_has_deadlocked) {
  static rt::Sched* deadlocked = nullptr;
  static std::atomic<bool> last_words_begin{false};
  EXPECT_FATAL(
      {
        on_panic([](panic_info const&) {
          last_words_begin = true;
          if (!spin_until([] { return was_checked(*deadlocked); })) ::_exit(8);
          sleep_for(1ms);
        });
        auto& earlier = kept<straggler>(left_in::a_loop);
        thrum::run([&] {
          deadlocked = &this_sched();
          earlier.begins([] { throw std::runtime_error("boom"); });
          if (!wait_until([] { return last_words_begin.load(); })) ::_exit(8);
          static_cast<void>(chan<int>().recv());
        });
      },
      "panic: boom\n(.*\n)*thrum: the on_panic function waits, and no goroutine can wake it\n$");
}

TEST_F(repeated_check, T13_S20_a_deadlock_is_found_when_the_threads_can_be_counted_again) {
  EXPECT_FATAL(thrum::run(
                   [] {
                     rt::os::inject_fault(rt::os::call::open, EMFILE, 0, 3);
                     wait_for_ever();
                   },
                   {.max_procs = 2}),
               DEADLOCK "goroutine 1 \\[waiting: wait group\\]");
}

// --- when there is nothing to repeat ---

// Waits until sysmon sleeps deeply. Returns whether it is going to check again. Called on a thread from outside.
bool is_left_open_in_deep_sleep(rt::Sched& s) {
  bool is_open = false;
  EXPECT_TRUE(spin_until([&] {
    rt::os::lock_guard const guard(s.lock);
    is_open = s.deadlock.is_left_open();
    return s.sysmon.is_in_deep_sleep();
  }));
  return is_open;
}

// Has a thread ask is_left_open_in_deep_sleep while main waits for the thread.
bool is_left_open_while_main_receives() {
  chan<bool> const answer;
  std::thread outside([&answer, &s = this_sched()] { answer.send(is_left_open_in_deep_sleep(s)); });
  bool const is_open = answer.recv().value_or(false);
  blocking([&] { outside.join(); });
  return is_open;
}

TEST(no_repeated_check, S16_a_run_that_waits_for_an_unknown_thread_is_checked_again) {
  delays_only const quiet;
  run_at(2, [] { EXPECT_TRUE(is_left_open_while_main_receives()); });
}

TEST(no_repeated_check, S16_not_if_deadlocks_are_not_to_be_found) {
  delays_only const quiet;
  run_with({.max_procs = 2, .deadlock_detection = false}, [] { EXPECT_FALSE(is_left_open_while_main_receives()); });
}

TEST(no_repeated_check, S16_not_while_a_goroutine_is_in_an_announced_call) {
  delays_only const quiet;
  run_at(2, [] {
    gate call_ends;
    bool is_open = true;
    std::thread outside([&, &s = this_sched()] {
      is_open = is_left_open_in_deep_sleep(s);
      call_ends.open();
    });
    blocking([&] {
      call_ends.wait();
      outside.join();
    });
    EXPECT_FALSE(is_open);
  });
}

// It may call thrum at any time, and when it ends, the thread maker checks.
TEST(no_repeated_check, S16_not_while_a_thread_that_has_called_thrum_is_alive) {
  delays_only const quiet;
  run_at(2, [] {
    chan<int> const words;
    bool is_open = true;
    std::thread outside([&, &s = this_sched()] {
      words.send(1);
      is_open = is_left_open_in_deep_sleep(s);
      words.send(2);
    });
    EXPECT_EQ(words.recv(), 1);
    EXPECT_EQ(words.recv(), 2);
    blocking([&] { outside.join(); });
    EXPECT_FALSE(is_open);
  });
}

// --- when the checks are made ---

// A scheduler without Ms, whose Ps are idle. No goroutine can run, and the threads of the test are unknown.
class check_times : public testing::Test {
 protected:
  check_times() {
    rt::os::lock_guard const guard(s.lock);
    for (rt::P* const p : s.procs) {
      p->transition(rt::p_status::stopped, rt::p_status::running);
      s.idle.put(*p);
    }
  }
  void check() {
    rt::os::lock_guard const guard(s.lock);
    check_deadlock_locked(s);
  }
  void use_a_p() {
    rt::os::lock_guard const guard(s.lock);
    static_cast<void>(s.idle.take());
  }

  rt::Sched s{rt::settings{.procs = 2}};
  rt::deadlock_watch watch{s};
};

constexpr std::int64_t ms_ns = 1'000'000;

TEST_F(check_times, S20_there_are_none_before_a_check_was_left_open) {
  EXPECT_EQ(watch.next_ns(0), rt::never_ns);
  watch.look(1, true);
  EXPECT_EQ(watch.next_ns(1), rt::never_ns);
}

TEST_F(check_times, S20_the_pauses_grow_to_ten_seconds_while_nothing_moves) {
  check();
  EXPECT_EQ(watch.next_ns(1000), 1000 + 10 * ms_ns);
  EXPECT_EQ(watch.next_ns(2000), 1000 + 10 * ms_ns);
  for (std::int64_t pause_ns = 20 * ms_ns;; pause_ns *= 2) {
    std::int64_t const now_ns = rt::os::monotonic_ns();
    std::int64_t const due_ns = watch.next_ns(now_ns);
    watch.look(due_ns - 1, true);
    EXPECT_EQ(watch.next_ns(now_ns), due_ns) << "not due";
    watch.look(due_ns, true);
    std::int64_t const most_ns = 10'000 * ms_ns;
    EXPECT_GE(watch.next_ns(now_ns), now_ns + std::min(pause_ns, most_ns));
    if (pause_ns >= 4 * most_ns) break;
  }
  std::int64_t const now_ns = rt::os::monotonic_ns();
  watch.look(now_ns, false);
  EXPECT_EQ(watch.next_ns(now_ns), now_ns + 10 * ms_ns) << "after something has moved";
}

TEST_F(check_times, S20_they_end_when_a_p_is_used) {
  check();
  std::int64_t const due_ns = watch.next_ns(0);
  use_a_p();
  watch.look(due_ns, true);
  EXPECT_EQ(watch.next_ns(due_ns), rt::never_ns);
}

// A check that is left open while sysmon sleeps deeply wakes it.
TEST_F(check_times, S20_a_check_that_is_left_open_ends_the_deep_sleep_of_sysmon_once) {
  auto const sleeps_on_after_check = [&] {
    {
      rt::os::lock_guard const guard(s.lock);
      s.sysmon.begin_deep_sleep();
    }
    check();
    rt::os::lock_guard const guard(s.lock);
    return s.sysmon.is_in_deep_sleep();
  };
  EXPECT_FALSE(sleeps_on_after_check());
  EXPECT_TRUE(sleeps_on_after_check());
}

}  // namespace
}  // namespace thrum::test
