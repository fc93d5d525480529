// Timeouts that end at the moment when another goroutine acts. With one P the order is known. Two timers that are due
// at once are run in the order of their times. The first goroutine goes to runnext, and the second one moves it into
// the run queue. So the goroutine with the later time runs first, and finds that the timer has woken the other
// goroutine and that this goroutine is in the wait queue.
#include "base/atomic.h"
#include "os/thread.h"
#include "support/asleep.h"
#include "support/goroutines.h"
#include "support/kept.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <new>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::run_at;
using test::run_with;

void compute_until(clock::time_point when) {
  while (clock::now() < when) {
  }
}

// Waits until `when`, and continues before the goroutines whose time was a little earlier.
struct overtaker {
  overtaker() { never_.lock(); }
  ~overtaker() { never_.unlock(); }
  overtaker(overtaker const&) = delete;
  overtaker& operator=(overtaker const&) = delete;
  void wait_until_just_after(clock::time_point when) { EXPECT_FALSE(never_.try_lock_until(when + 100us)); }

 private:
  mutex never_;
};

// Returns true if the writer gave up, false if the machine was too slow to set the scene. In both cases no goroutine
// hangs.
bool reader_leaves_while_the_only_writer_gives_up() {
  bool gave_up = false;
  shared_mutex shared;
  overtaker first;
  wait_group all;
  auto const t = clock::now() + 5ms;
  all.go([&] {
    shared.lock_shared();
    first.wait_until_just_after(t);
    shared.unlock_shared();
  });
  thrum::yield();
  all.go([&] {
    gave_up = !shared.try_lock_until(t);
    if (!gave_up) shared.unlock();
  });
  thrum::yield();
  all.go([&] {
    shared.lock_shared();  // waits for the writer; let in when it gave up
    shared.unlock_shared();
    shared.lock();  // there is no goroutine that it should have to wait for
    shared.unlock();
  });
  thrum::yield();
  thrum::yield();
  compute_until(t + 5ms);
  all.wait();
  EXPECT_TRUE(shared.try_lock());
  shared.unlock();
  return gave_up;
}

TEST(timed_races, SY_07_a_reader_leaves_while_the_only_writer_gives_up) {
  run_at(1, [] {
    int tries = 0;
    while (!reader_leaves_while_the_only_writer_gives_up()) ASSERT_LT(++tries, 100);
  });
}

TEST(timed_races, T14_what_was_notified_may_be_destroyed_although_a_waiter_gave_up_just_then) {
  alignas(condition_variable) static unsigned char changed_at[sizeof(condition_variable)];
  alignas(wait_group) static unsigned char done_at[sizeof(wait_group)];
  run_at(1, [] {
    mutex guard;
    overtaker first;
    auto* const changed = ::new (changed_at) condition_variable;
    auto* const done = ::new (done_at) wait_group;
    done->add(1);
    wait_group all;
    auto const t = clock::now() + 100ms;  // all are to wait before that
    int begun = 0;                        // with one P a goroutine that has counted runs until it waits
    all.go([&] {
      ++begun;
      std::unique_lock lock(guard);
      static_cast<void>(changed->wait_until(lock, t));  // in time or not: the machine may be slow
    });
    all.go([&] {
      ++begun;
      static_cast<void>(done->wait_until(t));
    });
    all.go([&] {
      ++begun;
      done->wait();
      done->~wait_group();
      std::memset(done_at, 0xff, sizeof done_at);
    });
    while (begun != 3) thrum::yield();
    all.go([&] {
      first.wait_until_just_after(t);
      {
        std::lock_guard const lock(guard);
        changed->notify_all();
      }
      changed->~condition_variable();
      std::memset(changed_at, 0xff, sizeof changed_at);
      done->done();
    });
    thrum::yield();
    thrum::yield();
    compute_until(t + 5ms);
    all.wait();
  });
  for (unsigned char const byte : changed_at) EXPECT_EQ(byte, 0xff);
  for (unsigned char const byte : done_at) EXPECT_EQ(byte, 0xff);
}

// A clock that can be set back.
struct wall {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<wall>;
  [[maybe_unused]] static constexpr bool is_steady = false;
  static inline std::atomic<std::int64_t> set_back{0};
  static time_point now() { return time_point(clock::now().time_since_epoch() - duration(set_back.load())); }
};

// False: the time was over before the clock was set back, which shows nothing.
bool is_notified_by_a_clock_set_back(std::chrono::milliseconds limit) {
  mutex guard;
  condition_variable changed;
  bool ready = false;
  bool is_over = false;
  wait_group all;
  all.go([&] {
    std::unique_lock lock(guard);
    auto const when = wall::now() + limit;
    while (!ready && !is_over) is_over = changed.wait_until(lock, when) == std::cv_status::timeout;
    EXPECT_TRUE(is_over || wall::now() < when) << "it did not sleep through";
  });
  thrum::yield();
  guard.lock();  // the notifier has the mutex when the time is over
  bool const was_too_late = is_over;
  wall::set_back = std::chrono::nanoseconds(1h).count();
  // The waiter's time is over by the kernel's clock when it wants the mutex back.
  EXPECT_TRUE(was_too_late || test::wait_until([&] { return test::goroutine_is_parked_on(&guard); }));
  ready = true;
  changed.notify_one();
  guard.unlock();
  all.wait();
  wall::set_back = 0;
  EXPECT_EQ(is_over, was_too_late) << "by that clock the time is not over";
  return !was_too_late;
}

TEST(timed_races, SY_08_a_clock_that_is_set_back_swallows_no_notification) {
  run_at(1, [] {
    for (auto limit = 5ms; !is_notified_by_a_clock_set_back(limit); limit *= 2) ASSERT_LT(limit, 5s);
  });
}

TEST(timed_races, a_moment_long_ago_is_over) {
  run_at(1, [] {
    mutex guard;
    guard.lock();
    auto const refused = [&](auto when) { return !guard.try_lock_until(when); };
    EXPECT_TRUE(refused(clock::time_point::min()));
    EXPECT_TRUE(refused(wall::time_point::min()));
    EXPECT_TRUE(refused(std::chrono::steady_clock::time_point::min()));
    guard.unlock();
  });
}

// A goroutine that its run has left behind in user code comes to a lock that the next run uses. Its thread
// ends there, or goes to sleep for good.
TEST(timed_races, T12_a_straggler_does_not_touch_what_the_next_run_waits_on) {
  constexpr std::size_t stragglers = 3;
  struct shared_by_both_runs {
    semaphore permits{0};
    shared_mutex shared;
    std::array<std::atomic<int>, stragglers> tids{};
    std::atomic<bool> may_go_on{false};
    std::atomic<std::size_t> gone_on{0};
  };
  auto& all = test::kept<shared_by_both_runs>();
  // Without the signal, which would stop them where they are.
  run_with({.max_procs = 2 + static_cast<int>(stragglers), .async_preemption = false}, [&] {
    auto const leave_behind = [&](std::size_t number, auto f) {
      go([&, number, f] {
        all.tids.at(number) = rt::os::current_tid();
        while (!all.may_go_on) rt::cpu_relax();
        ++all.gone_on;
        f();
      });
    };
    leave_behind(0, [&] { all.permits.acquire(); });
    leave_behind(1, [&] { static_cast<void>(all.permits.try_acquire_for(1h)); });
    leave_behind(2, [&] { all.shared.lock(); });
    for (auto const& tid : all.tids) EXPECT_TRUE(test::wait_until([&] { return tid != 0; }));
  });
  run_at(2, [&] {
    all.shared.lock_shared();
    all.may_go_on = true;
    while (all.gone_on != stragglers) thrum::yield();
    for (int const tid : all.tids) EXPECT_TRUE(test::wait_until([&] { return test::sleeps_or_has_ended(tid); }));
    all.permits.release();
    EXPECT_TRUE(all.permits.try_acquire());
    all.shared.unlock_shared();
    all.shared.lock();
    all.shared.unlock();
  });
}

}  // namespace
}  // namespace thrum
