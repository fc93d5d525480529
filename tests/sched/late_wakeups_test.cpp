// If a P is idle, a runnable goroutine starts soon and a timer that is due is noticed soon, whatever other goroutines
// and threads do: wakers that continue to compute, goroutines with long turns, and threads that are away in system
// calls.
#include "os/clock.h"
#include "support/channels.h"
#include "support/gate.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/tries.h"
#include "support/two_threads.h"
#include "support/wait_until.h"
#include "threads/home_calls.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>
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
    std::uint64_t const before = s.sysmon.looks.load(rt::relaxed);
    compute_for(5ms);
    return s.sysmon.looks.load(rt::relaxed) == before;
  });
}

bool others_are_idle() {
  rt::Sched const& s = this_sched();
  return s.idle.count() == s.procs.size() - 1 && s.idle.none_spins();
}

// --- wake-ups that are put off ---

struct wake_up {
  bool was_nudged;             // the send ended a long sleep of sysmon
  std::uint64_t sysmon_looks;  // how often sysmon looked before it woke the idle P
};

// Ways in which a goroutine makes another one runnable. `wait` ends when the goroutine that called the constructor
// calls `wake`.
class by_sending {
 public:
  void wait() { static_cast<void>(c_.recv()); }
  [[nodiscard]] bool is_waited_for() const { return waiting_on(c_).receivers == 1; }
  void wake() { c_.send(1); }

 private:
  chan<int> const c_;
};

class by_unlocking {
 public:
  by_unlocking() { lock_.lock(); }
  void wait() { std::lock_guard const guard(lock_); }
  [[nodiscard]] bool is_waited_for() const { return goroutine_is_parked_on(&lock_); }
  void wake() { lock_.unlock(); }

 private:
  mutex lock_;
};

class by_releasing {
 public:
  void wait() { permits_.acquire(); }
  [[nodiscard]] bool is_waited_for() const { return goroutine_is_parked_on(&permits_); }
  void wake() { permits_.release(); }

 private:
  semaphore permits_{0};
};

// A goroutine is made runnable by a waker that goes on to compute, beside an idle P.
template <class Way>
wake_up wake_up_beside_a_computing_waker() {
  rt::Sched const& s = this_sched();
  Way way;
  std::atomic<bool> has_started{false};
  wait_group woken;
  woken.go([&] {
    way.wait();
    has_started = true;
  });
  EXPECT_TRUE(wait_until([&] { return way.is_waited_for(); }));
  EXPECT_TRUE(wait_until_sysmon_is_slow());
  EXPECT_TRUE(spin_until(others_are_idle));
  this_p().wakes_at_once.store(0, rt::relaxed);  // what the round before has taught it
  std::uint32_t const word = s.sysmon.notify_word();
  std::uint64_t const looks = s.sysmon.looks.load(rt::relaxed);
  way.wake();
  wake_up seen{s.sysmon.notify_word() != word, 0};
  EXPECT_TRUE(spin_until([&] { return has_started || !others_are_idle(); }));
  seen.sysmon_looks = s.sysmon.looks.load(rt::relaxed) - looks;
  EXPECT_TRUE(spin_until([&] { return has_started.load(); }));
  woken.wait();
  return seen;
}

// Times would tell what the machine does. So what counts is that sysmon does not sleep on, and that its second look at
// the goroutine wakes the P. How soon the looks follow each other is tested in unit.sys.put_off_watch.
template <class Way>
void expect_a_soon_start_beside_a_computing_waker() {
  constexpr int rounds = 11;
  for (int const procs : {2, 8}) {
    run_at(procs, [] {
      leave_m0();
      int nudges = 0;
      std::vector<std::uint64_t> looks;
      for (int i = 0; i < rounds; ++i) {
        wake_up const seen = wake_up_beside_a_computing_waker<Way>();
        nudges += seen.was_nudged ? 1 : 0;
        looks.push_back(seen.sysmon_looks);
      }
      if (!limits_count()) return;  // what is delayed at random shows only that the goroutines start at all
      std::sort(looks.begin(), looks.end());
      EXPECT_GE(nudges, rounds / 2) << "sysmon may have been awake by chance, but seldom";
      // Two are needed. Some more pass while this thread or the woken one waits for a CPU.
      EXPECT_LE(looks[rounds / 2], 10U);
    });
  }
}

TEST(late_wakeups, a_receiver_starts_soon_beside_a_sender_that_computes) {
  expect_a_soon_start_beside_a_computing_waker<by_sending>();
}

TEST(late_wakeups, the_next_owner_of_a_mutex_starts_soon_beside_the_last_one_that_computes) {
  expect_a_soon_start_beside_a_computing_waker<by_unlocking>();
}

TEST(late_wakeups, a_waiter_for_a_permit_starts_soon_beside_a_releaser_that_computes) {
  expect_a_soon_start_beside_a_computing_waker<by_releasing>();
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
    leave_m0();
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
    leave_m0();
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
  struct lateness {
    spread of_sleeper;
    spread of_threads;

    [[nodiscard]] nanoseconds limit() const { return 2ms * slowness() + 10 * of_threads.median; }
  };
  auto const measure = [] {
    std::vector<nanoseconds> late;
    std::vector<nanoseconds> usual;
    run_at(1, [&] {
      leave_m0();
      for (int i = 0; i < 15; ++i) {
        late.push_back(lateness_beside_a_call());
        usual.push_back(blocking(lateness_of_two_threads));
      }
    });
    return lateness{spread_of(late), spread_of(usual)};
  };
  auto const seen = in_one_of(5, measure, [](lateness const& s) { return s.of_sleeper.median <= s.limit(); });
  EXPECT_LE(seen.of_sleeper.median, seen.limit()) << seen.of_sleeper << "; two threads: " << seen.of_threads;
}

// Seen from outside each of these calls is a new one, and no goroutine waits in a queue: only a timer is due.
TEST(late_timers, a_sleeper_beside_one_short_system_call_after_another_wakes) {
  with_slices_of const slices(10ms);
  run_at(1, [] {
    leave_m0();
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
