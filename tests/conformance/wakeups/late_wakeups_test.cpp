// If a P is idle, a runnable goroutine starts soon and a timer that is due is noticed soon, whatever other goroutines
// and threads do: wakers that continue to compute, goroutines with long turns, and threads that are away in system
// calls.
#include "conformance/home/calls.h"
#include "os/clock.h"
#include "support/channels.h"
#include "support/gate.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/tries.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

// Computes for so long: without a call of the runtime, and without a system call.
void compute_for(nanoseconds length) {
  for (std::int64_t const until_ns = rt::os::monotonic_ns() + length.count(); rt::os::monotonic_ns() < until_ns;)
    rt::cpu_relax();
}

// Keeps the P until sysmon has found nothing to do for a while: its looks are 5 ms apart at least.
bool wait_until_sysmon_is_slow() {
  rt::Sched const& s = this_sched();
  return spin_until([&] {
    std::uint64_t const before = s.sysmon_looks.load(rt::relaxed);
    compute_for(5ms);
    return s.sysmon_looks.load(rt::relaxed) == before;
  });
}

bool others_are_idle() {
  rt::Sched const& s = this_sched();
  return s.idle_procs.load(rt::seq_cst) == s.procs.size() - 1 && s.spinning.load(rt::seq_cst) == 0;
}

// --- wake-ups that are put off ---

// From the send to the receiver's first step, with a sender that goes on to compute, beside an idle P.
nanoseconds time_to_start_beside_a_computing_waker() {
  chan<int> const c;
  std::atomic<std::int64_t> started_ns{0};
  wait_group receiver;
  receiver.go([&] {
    static_cast<void>(c.recv());
    started_ns = rt::os::monotonic_ns();
  });
  EXPECT_TRUE(wait_until_receivers(c, 1));
  EXPECT_TRUE(wait_until_sysmon_is_slow());
  EXPECT_TRUE(spin_until(others_are_idle));
  this_p().wakes_at_once.store(0, rt::relaxed);  // what the round before has taught it
  std::int64_t const sent_ns = rt::os::monotonic_ns();
  c.send(1);
  for (std::int64_t const until_ns = sent_ns + 1'000'000'000; started_ns == 0 && rt::os::monotonic_ns() < until_ns;)
    rt::cpu_relax();
  receiver.wait();
  return nanoseconds(started_ns - sent_ns);
}

TEST(late_wakeups, a_receiver_starts_soon_beside_a_sender_that_computes) {
  auto const limit = 4ms * slowness();  // 0.3 ms is usual
  for (int const procs : {2, 8}) {
    run_at(procs, [&] {
      leave_the_first_thread();
      auto const eleven_times = [] {
        std::vector<nanoseconds> times;
        for (int i = 0; i < 11; ++i) times.push_back(time_to_start_beside_a_computing_waker());
        return spread_of(times);
      };
      spread const seen = in_one_of(5, eleven_times, [&](spread const& s) { return s.median <= limit; });
      EXPECT_LE(seen.median, limit) << seen;
    });
  }
}

// What the waker learns from that is worth little if the next thousand wake-ups are right to be put off.
TEST(late_wakeups, a_single_mistake_makes_a_p_cautious_for_a_few_wake_ups_only) {
  if (!limits_count()) GTEST_SKIP() << "threads are off the CPU so often here that a P has reasons to be cautious";
  run_at(2, [] {
    leave_the_first_thread();
    auto const mistake = [] {
      static_cast<void>(time_to_start_beside_a_computing_waker());
      return this_p().wakes_at_once.load(rt::relaxed);
    };
    EXPECT_TRUE(spin_until([&] { return mistake() != 0; }));
    auto const caution_after_many_rightly_put_off = [&] {
      chan<int> const there;
      chan<int> const back;
      go([=] {
        for (auto const n : there) back.send(n);
      });
      for (int i = 0; i < 20'000; ++i) {
        there.send(i);
        EXPECT_EQ(back.recv(), i);
      }
      there.close();
      std::uint32_t again = 0;
      EXPECT_TRUE(spin_until([&] { return (again = mistake()) != 0; }));
      return again;
    };
    // A thread that the kernel takes off the CPU for a moment looks like a waker that computes.
    EXPECT_LE(in_one_of(10, caution_after_many_rightly_put_off, [](std::uint32_t n) { return n <= 16; }), 16U);
  });
}

// --- goroutines that go to the global queue while their thread has something else to do ---

// A resident of this thread that was readied runs before the goroutine that yields, and keeps the P until that
// goroutine has run. So that goroutine must run on the other P. Returns true if the two were on the same thread.
bool yields_to_a_resident_that_keeps_the_p() {
  chan<int> const c;
  std::atomic<bool> is_same{false};
  std::atomic<bool> went_on{false};
  wait_group both;
  both.go([&] {
    static_cast<void>(call_at_home([&] {
      both.go([&, home = rt::os::current_tid()] {
        EXPECT_TRUE(wait_until_receivers(c, 1));
        is_same = home == rt::os::current_tid() && spin_until(others_are_idle);
        c.send(1);
        if (is_same) yield();
        went_on = true;
      });
      static_cast<void>(c.recv());
      EXPECT_TRUE(spin_until([&] { return went_on.load(); }, 5'000'000'000)) << "beside an idle P";
    }));
  });
  both.wait();
  return is_same;
}

TEST(late_wakeups, a_goroutine_that_yields_to_a_resident_goes_on_beside_an_idle_p) {
  with_slices_of const slices(10s);  // the end of a slice would help it
  run_at(2, [] {
    leave_the_first_thread();
    int tries = 0;
    for (int met = 0; met < 10 && !testing::Test::HasFailure(); met += yields_to_a_resident_that_keeps_the_p() ? 1 : 0)
      ASSERT_LT(++tries, 10'000);
  });
}

// --- timers while no P is idle ---

// How many turns of a millisecond others have while a goroutine sleeps for two.
std::int64_t turns_during_a_sleep(int procs) {
  std::vector<std::int64_t> turns_of;
  run_at(procs, [&] {
    leave_the_first_thread();
    std::atomic<bool> stop{false};
    std::atomic<std::int64_t> turns{0};
    wait_group others;
    for (int i = 0; i < 2 * procs; ++i) {
      others.go([&] {
        while (!stop) {
          compute_for(1ms);
          ++turns;
          yield();
        }
      });
    }
    for (int i = 0; i < 15; ++i) {
      std::int64_t const before = turns;
      sleep_for(2ms);
      turns_of.push_back(turns - before);
    }
    stop = true;
    others.wait();
  });
  std::sort(turns_of.begin(), turns_of.end());
  return turns_of[turns_of.size() / 2];
}

TEST(late_timers, a_sleeper_waits_for_a_few_long_turns_of_others_only) {
  for (int const procs : {1, 2}) {
    // Some more than the three or so of a quiet machine, because sysmon itself may wait long for a CPU.
    EXPECT_LE(turns_during_a_sleep(procs), 20 * procs)
        << "two pass meanwhile, and 61 are the turns after which a P looks by itself";
  }
}

// How late a goroutine wakes whose P, the only one, is away in a call.
nanoseconds lateness_beside_a_call() {
  gate call;
  std::atomic<bool> sleeps{false};
  nanoseconds late{};
  wait_group sleeper;
  EXPECT_TRUE(wait_until_sysmon_is_slow());
  sleeper.go([&] {
    auto const due = clock::now() + 1ms;
    sleeps = true;
    sleep_until(due);
    late = clock::now() - due;
    call.open();
  });
  while (!sleeps) yield();
  blocking([&] { call.wait(); });
  sleeper.wait();
  return late;
}

TEST(late_timers, a_sleeper_beside_a_system_call_on_the_only_p_wakes_in_time) {
  run_at(1, [] {
    leave_the_first_thread();
    auto const limit = 2ms * slowness();  // 0.2 ms is usual
    auto const fifteen_times = [] {
      std::vector<nanoseconds> late;
      for (int i = 0; i < 15; ++i) late.push_back(lateness_beside_a_call());
      return spread_of(late);
    };
    spread const seen = in_one_of(5, fifteen_times, [&](spread const& s) { return s.median <= limit; });
    EXPECT_LE(seen.median, limit) << seen;
  });
}

// Seen from outside each of these calls is a new one, and no goroutine waits in a queue: only a timer is due.
TEST(late_timers, a_sleeper_beside_one_short_system_call_after_another_wakes) {
  with_slices_of const slices(10ms);
  run_at(1, [] {
    leave_the_first_thread();
    std::atomic<bool> is_awake{false};
    wait_group sleeper;
    sleeper.go([&] {
      sleep_for(2ms);
      is_awake = true;
    });
    yield();
    for (std::int64_t const until_ns = rt::os::monotonic_ns() + 10'000'000'000;
         !is_awake && rt::os::monotonic_ns() < until_ns;) {
      blocking([] { static_cast<void>(::getppid()); });
    }
    EXPECT_TRUE(is_awake);
    sleeper.wait();
  });
}

}  // namespace
}  // namespace thrum::test
