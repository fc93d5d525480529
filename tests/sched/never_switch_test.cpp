// T06: only a call that may wait may change the thread or let another goroutine run. A call that never waits stays on
// its thread, also if it wakes other goroutines.
// Channels are in channels/progress_test.cpp, contexts in context/cancel_test.cpp, descriptors in net/kinds_test.cpp.
#include "core/current.h"
#include "os/thread.h"
#include "support/goroutines.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::goroutine_is_parked_on;
using test::preempted;
using test::run_at;
using test::wait_until;
using test::with_slices_of;

TEST(calls_that_never_wait, T06_stay_on_their_thread) {
  with_slices_of const slices(200us);
  run_at(2, [] {
    std::atomic<bool> stop{false};
    wait_group all;
    for (int i = 0; i < 4; ++i) {
      all.go([&] {
        std::recursive_mutex of_the_thread;
        chan<int> const c(1);
        mutex m;
        semaphore permits(0);
        condition_variable without_waiter;
        wait_group counted;
        for (std::uint32_t round = 0; !stop; ++round) {
          std::lock_guard const lock(of_the_thread);
          int const thread = rt::os::current_tid();
          static_cast<void>(c.try_send(1));
          static_cast<void>(c.try_recv());
          m.lock();
          m.unlock();
          permits.release();
          static_cast<void>(permits.try_acquire());
          without_waiter.notify_one();
          counted.add(1);
          counted.done();
          chan<int>().close();
          if (round % 64 == 0) go([] {});  // only now and then, because no M runs them meanwhile
          static_cast<void>(this_goroutine::id());
          ASSERT_EQ(rt::os::current_tid(), thread);
        }
      });
    }
    do {
      sleep_for(200us);
    } while (preempted(read_stats()) < 20);
    stop = true;
    all.wait();
  });
}

// The same with a waiting goroutine that is woken and may run on another P.
TEST(calls_that_never_wait, T06_stay_on_their_thread_although_they_wake_a_goroutine) {
  with_slices_of const slices(200us);
  run_at(2, [] {
    std::atomic<bool> stop{false};
    std::atomic<int> woken{0};
    wait_group all;
    for (int i = 0; i < 2; ++i) {
      all.go([&] {
        std::recursive_mutex of_the_thread;
        mutex m;
        semaphore permits(0);
        semaphore answers(0);
        condition_variable changed;
        int generation = 0;
        wait_group partners;
        partners.go([&] {
          for (permits.acquire(); !stop; permits.acquire()) ++woken;
        });
        partners.go([&] {
          for (int seen = 0; !stop;) {
            std::unique_lock lock(m);
            changed.wait(lock, [&] { return generation != seen || stop; });
            seen = generation;
            ++woken;
          }
        });
        auto const one_round = [&] {
          m.lock();  // may wait
          ++generation;
          std::lock_guard const lock(of_the_thread);
          int const thread = rt::os::current_tid();
          changed.notify_one();
          m.unlock();
          changed.notify_all();
          permits.release();
          EXPECT_EQ(rt::os::current_tid(), thread);
        };
        while (!stop) {
          one_round();
          thrum::yield();  // they wait anew
        }
        one_round();  // they may have begun to wait just now
        partners.wait();
      });
    }
    do {
      sleep_for(200us);
    } while (woken < 1000);
    stop = true;
    all.wait();
  });
}

// --- at one P: no other goroutine runs before the caller lets it run ---

// How many time slices have begun on this P so far.
std::uint32_t turns() { return test::this_p().schedtick.load(rt::relaxed); }

// `wake` wakes the goroutines that have parked. They count themselves in `woken` when they run.
template <class Wake>
void expect_no_switch(int const& woken, int expected, Wake wake) {
  int const before = woken;
  std::uint32_t const turns_before = turns();
  int const thread = rt::os::current_tid();
  wake();
  EXPECT_EQ(woken, before) << "one that was woken has run";
  EXPECT_EQ(turns(), turns_before);
  EXPECT_EQ(rt::os::current_tid(), thread);
  EXPECT_TRUE(wait_until([&] { return woken == before + expected; })) << "they were not woken";
}

// Locks the mutex. Another goroutine waits for it, and counts itself in `woken` when it has had the mutex.
void lock_before_one(mutex& m, wait_group& all, int& woken) {
  m.lock();
  all.go([&] {
    std::lock_guard const lock(m);
    ++woken;
  });
}

TEST(calls_that_never_wait, T06_unlock_does_not_switch_to_the_one_that_waits) {
  test::in_run_order const undisturbed;
  run_at(1, [] {
    mutex m;
    int woken = 0;
    wait_group all;
    lock_before_one(m, all, woken);
    ASSERT_TRUE(wait_until([&] { return goroutine_is_parked_on(&m); }));
    expect_no_switch(woken, 1, [&] { m.unlock(); });
    all.wait();
  });
}

// A waiter that was woken, found the mutex locked and has waited for more than a millisecond is handed the mutex. No
// other goroutine can lock it then, but the waiter continues only when its turn comes.
TEST(calls_that_never_wait, T06_unlock_does_not_switch_to_the_one_that_is_handed_the_mutex) {
  test::in_run_order const undisturbed;
  run_at(1, [] {
    mutex m;
    int woken = 0;
    wait_group all;
    lock_before_one(m, all, woken);
    ASSERT_TRUE(wait_until([&] { return goroutine_is_parked_on(&m); }));
    test::compute_for(2ms);
    m.unlock();  // wakes the waiter,
    m.lock();    // and locks the mutex before the waiter does
    ASSERT_FALSE(goroutine_is_parked_on(&m));
    ASSERT_TRUE(wait_until([&] { return goroutine_is_parked_on(&m); }));
    EXPECT_EQ(woken, 0);
    expect_no_switch(woken, 1, [&] {
      m.unlock();
      EXPECT_FALSE(m.try_lock()) << "it was not handed over";
    });
    all.wait();
  });
}

TEST(calls_that_never_wait, T06_release_does_not_switch_to_those_that_wait) {
  test::in_run_order const undisturbed;
  run_at(1, [] {
    semaphore permits(0);
    int woken = 0;
    wait_group all;
    for (int i = 0; i < 3; ++i) {
      all.go([&] {
        permits.acquire();
        ++woken;
      });
    }
    ASSERT_TRUE(wait_until([] { return test::waiting_for(rt::wait_reason::semaphore) == 3; }));
    expect_no_switch(woken, 1, [&] { permits.release(); });
    expect_no_switch(woken, 2, [&] { permits.release(2); });
    all.wait();
  });
}

TEST(calls_that_never_wait, T06_notify_does_not_switch_to_those_that_wait) {
  test::in_run_order const undisturbed;
  run_at(1, [] {
    mutex m;
    condition_variable changed;
    int woken = 0;
    wait_group all;
    for (int i = 0; i < 4; ++i) {
      all.go([&] {
        std::unique_lock lock(m);
        changed.wait(lock);
        ++woken;
      });
    }
    ASSERT_TRUE(wait_until([] { return test::waiting_for(rt::wait_reason::condition_variable) == 4; }));
    expect_no_switch(woken, 1, [&] { changed.notify_one(); });
    expect_no_switch(woken, 3, [&] { changed.notify_all(); });
    all.wait();
  });
}

TEST(calls_that_never_wait, T06_done_and_count_down_do_not_switch_to_those_that_wait) {
  test::in_run_order const undisturbed;
  run_at(1, [] {
    wait_group counted;
    latch reached(1);
    counted.add(1);
    int woken = 0;
    wait_group all;
    all.go([&] {
      counted.wait();
      ++woken;
    });
    all.go([&] {
      reached.wait();
      ++woken;
    });
    ASSERT_TRUE(wait_until([&] { return goroutine_is_parked_on(&counted); }));
    ASSERT_TRUE(wait_until([] { return test::waiting_for(rt::wait_reason::latch) == 1; }));
    expect_no_switch(woken, 1, [&] { counted.done(); });
    expect_no_switch(woken, 1, [&] { reached.count_down(); });
    all.wait();
  });
}

}  // namespace
}  // namespace thrum
