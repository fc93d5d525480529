#include "os/lock.h"

#include "os/clock.h"
#include "os/fault.h"
#include "os/futex.h"
#include "os/note.h"
#include "os/thread.h"

#include <thread>
#include <vector>

#include <errno.h>
#include <gtest/gtest.h>

namespace thrum::rt::os {
namespace {

constexpr int stress_rounds = with_asan || with_tsan ? 5000 : 30'000;

TEST(lock, an_uncontended_lock_makes_no_system_call) {
  clear_faults();
  count_calls();
  lock l(lock_rank::leaf);
  for (int i = 0; i < 100; ++i) {
    l.acquire();
    l.assert_held();
    l.release();
  }
  EXPECT_EQ(calls_made(call::futex) + calls_made(call::futex_wake), 0U);
  clear_faults();
}

TEST(lock, a_held_lock_cannot_be_tried_and_a_free_one_can) {
  lock l(lock_rank::leaf);
  l.acquire();
  bool taken = true;
  std::thread([&] { taken = l.try_acquire(); }).join();
  EXPECT_FALSE(taken);
  l.release();
  ASSERT_TRUE(l.try_acquire());
  l.release();
}

TEST(lock, eight_threads_never_meet_inside) {
  lock l(lock_rank::leaf);
  long counter = 0;
  int inside = 0;
  int met = 0;
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < stress_rounds; ++n) {
        lock_guard const guard(l);
        if (++inside != 1) ++met;
        ++counter;
        if (n % 64 == i) yield_thread();  // let others run into it, so that they go to sleep
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter, 8L * stress_rounds);
  EXPECT_EQ(met, 0);
}

TEST(lock, tries_and_waits_may_be_mixed) {
  lock l(lock_rank::leaf);
  long counter = 0;
  long expected = 0;
  std::vector<long> taken(4, 0);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < stress_rounds; ++n) {
        if (i % 2 == 0) {
          l.acquire();
        } else if (!l.try_acquire()) {
          continue;
        }
        ++counter;
        ++taken[i];
        l.release();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (long const each : taken) expected += each;
  EXPECT_EQ(counter, expected);
}

TEST(lock, a_waiter_that_sleeps_is_woken_by_the_release) {
  clear_faults();
  count_calls();
  lock l(lock_rank::leaf);
  l.acquire();
  bool entered = false;
  std::thread waiter([&] {
    lock_guard const guard(l);
    entered = true;
  });
  while (calls_made(call::futex) == 0) yield_thread();  // until it has given up spinning
  l.release();
  waiter.join();
  EXPECT_TRUE(entered);
  EXPECT_GE(calls_made(call::futex_wake), 1U);
  clear_faults();
}

TEST(lock, interrupted_waits_go_on_waiting) {
  clear_faults();
  inject_fault(call::futex, EINTR, 0, 100);
  lock l(lock_rank::leaf);
  l.acquire();
  std::thread waiter([&] { lock_guard const guard(l); });
  while (calls_made(call::futex) <= 100) yield_thread();
  EXPECT_FALSE(l.try_acquire());
  l.release();
  waiter.join();
  clear_faults();
}

// Two threads share a heap object; the one that takes the count to zero frees it right after its own release,
// while the other may still be on its way out of release().
TEST(lock, the_next_holder_may_destroy_it) {
  struct shared {
    lock guard{lock_rank::leaf};
    int references = 2;
  };
  auto const drop = [](shared* object) {
    object->guard.acquire();
    bool const last = --object->references == 0;
    object->guard.release();
    if (last) delete object;
  };
  atomic<shared*> given{nullptr};
  atomic<bool> ends{false};
  std::thread other([&] {
    while (!ends.load(acquire) || given.load(acquire) != nullptr) {  // pairs with the stores below
      shared* const object = given.exchange(nullptr, acq_rel);
      object == nullptr ? yield_thread() : drop(object);
    }
  });
  // Beside others a hand-over by yielding takes a slice of each of them.
  std::int64_t const until_ns = monotonic_ns() + 2'000'000'000;
  for (int i = 0; i < stress_rounds && monotonic_ns() < until_ns; ++i) {
    auto* const object = new shared;
    while (given.load(acquire) != nullptr) yield_thread();
    given.store(object, release);  // pairs with the exchange above
    drop(object);
  }
  ends.store(true, release);
  other.join();
}

#if THRUM_DEBUG_CHECKS
TEST(lock, a_lock_of_a_lower_rank_may_not_be_taken_second) {
  lock high(lock_rank::leaf);
  lock low(lock_rank::sched);
  high.acquire();
  EXPECT_EXIT(low.acquire(), testing::ExitedWithCode(2), "lock of rank");
  EXPECT_EXIT(static_cast<void>(low.try_acquire()), testing::ExitedWithCode(2), "lock of rank");
  EXPECT_EXIT(high.acquire(), testing::ExitedWithCode(2), "lock of rank");
  high.release();
  EXPECT_EQ(ranks_held(), 0);
}

TEST(lock, only_its_holder_may_release_it) {
  lock l(lock_rank::leaf);
  EXPECT_EXIT(l.release(), testing::ExitedWithCode(2), "this_thread");
  EXPECT_EXIT(l.assert_held(), testing::ExitedWithCode(2), "this_thread");
}
#endif

}  // namespace
}  // namespace thrum::rt::os
