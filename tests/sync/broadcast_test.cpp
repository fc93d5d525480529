// Waking a crowd that waits for one object. The waker releases the lock of the bucket in between, so timeouts end and
// new goroutines begin to wait in the middle of it. No waiter is forgotten, and no goroutine is woken that came later.
#include "core/current.h"
#include "core/sched.h"
#include "sched/timers.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/tries.h"
#include "support/wait_until.h"
#include "sync/lock_holders.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <shared_mutex>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::run_at;
using test::scaled;
using test::wait_until;

rt::wait_bucket& bucket_of(void const* address) { return rt::current_m()->sched.waiters.bucket_of(address); }

// How many goroutines wait in the bucket of this key: in these tests, for this key.
std::int64_t waiting_for(void const* key) {
  rt::runtime_mark const mark;
  rt::wait_bucket& bucket = bucket_of(key);
  std::int64_t count = 0;
  bucket.acquire();
  bucket.for_each([&](rt::sudog const&) { ++count; });
  bucket.release();
  return count;
}

// Calls `wait` on many goroutines, then `wake`. Returns true if a goroutine on the other P held the lock of the bucket
// when the first waiter had left the bucket and the last had not. The last waiter belongs to no running goroutine, so
// no waker wins it.
bool others_have_the_bucket_meanwhile(void const* key, std::function<void()> const& wait,
                                      std::function<void()> const& wake) {
  std::int64_t const count = scaled(20'000, 1'000);
  wait_group all;
  for (std::int64_t i = 0; i < count; ++i) all.go(wait);
  EXPECT_TRUE(wait_until([&] { return waiting_for(key) == count; }));
  rt::G waiter_of_no_key;
  rt::sudog last;
  last.g = &waiter_of_no_key;
  last.in_race = true;
  last.wanted = 1;
  rt::sudog const* first = nullptr;
  {
    rt::runtime_mark const mark;
    rt::wait_bucket& bucket = bucket_of(key);
    bucket.acquire();
    first = bucket.first(key);
    bucket.enqueue(last, key, rt::queue_end::back);
    bucket.release();
  }
  std::atomic<bool> looks = false;
  std::atomic<bool> is_over = false;
  bool seen = false;
  all.go([&] {
    looks = true;
    while (!is_over) {
      rt::runtime_mark const mark;
      rt::wait_bucket& bucket = bucket_of(key);
      bucket.acquire();
      seen = seen || (bucket.first(key) != first && last.address != nullptr);
      bucket.release();
    }
  });
  EXPECT_TRUE(wait_until([&] { return looks.load(); }));
  wake();
  EXPECT_EQ(last.address, nullptr);
  is_over = true;
  all.wait();
  return seen;
}

TEST(broadcast, of_a_wait_group_lets_others_have_the_bucket_meanwhile) {
  run_at(2, [] {
    EXPECT_TRUE(test::shows_in_some_try([] {
      wait_group group;
      group.add(1);
      return others_have_the_bucket_meanwhile(
          &group, [&] { group.wait(); }, [&] { group.done(); });
    }));
  });
}

TEST(broadcast, of_a_condition_variable_lets_others_have_the_bucket_meanwhile) {
  run_at(2, [] {
    EXPECT_TRUE(test::shows_in_some_try([] {
      mutex m;
      condition_variable changed;
      bool is_set = false;
      return others_have_the_bucket_meanwhile(
          &changed,
          [&] {
            std::unique_lock lock(m);
            changed.wait(lock, [&] { return is_set; });
          },
          [&] {
            {
              std::lock_guard const guard(m);
              is_set = true;
            }
            changed.notify_all();
          });
    }));
  });
}

TEST(broadcast, to_the_readers_of_a_shared_mutex_lets_others_have_the_bucket_meanwhile) {
  run_at(2, [] {
    EXPECT_TRUE(test::shows_in_some_try([] {
      shared_mutex m;
      m.lock();
      return others_have_the_bucket_meanwhile(
          rt::key_of(&m, rt::lock_wait_kind::to_read), [&] { std::shared_lock const reading(m); }, [&] { m.unlock(); });
    }));
  });
}

TEST(broadcast, of_many_permits_lets_others_have_the_bucket_meanwhile) {
  run_at(2, [] {
    EXPECT_TRUE(test::shows_in_some_try([] {
      semaphore permits(0);
      return others_have_the_bucket_meanwhile(
          &permits, [&] { permits.acquire(); }, [&] { permits.release(scaled(20'000, 1'000) + 1); });
    }));
  });
}

// Time limits end while the crowd is woken, and others begin to wait for the same object in the next round.
TEST(broadcast, meets_time_limits_that_end_and_newcomers) {
  run_at(2, [] {
    for (std::int64_t round = 0; round < scaled(60, 6); ++round) {
      constexpr int count = 400;
      wait_group group;
      wait_group all;
      std::atomic<int> in_time = 0;
      std::atomic<int> late = 0;
      std::atomic<bool> next_is_over = false;
      group.add(1);
      auto const when = clock::now() + 5ms;
      for (int i = 0; i < count; ++i) {
        all.go([&, i] {
          if (i % 2 == 0) {
            group.wait();
            ++in_time;
          } else {
            ++(group.wait_until(when) ? in_time : late);
          }
        });
      }
      EXPECT_TRUE(wait_until([&] { return waiting_for(&group) + late == count; }));
      all.go([&] {
        while (!group.wait_for(0s)) thrum::yield();
        group.add(1);
        for (int i = 0; i < 20; ++i) {
          all.go([&] {
            group.wait();
            EXPECT_TRUE(next_is_over) << "woken by a broadcast that began before it waited";
          });
        }
      });
      while (clock::now() < when) thrum::yield();
      group.done();
      EXPECT_TRUE(wait_until([&] { return in_time + late == count && waiting_for(&group) == 20; }));
      next_is_over = true;
      group.done();
      all.wait();
    }
  });
}

TEST(broadcast, readers_writers_and_time_limits_meet_in_a_shared_mutex) {
  run_at(2, [] {
    for (std::int64_t round = 0; round < scaled(60, 6); ++round) {
      shared_mutex m;
      wait_group all;
      std::int64_t guarded = 0;
      std::int64_t written = 0;
      std::atomic<int> writers = 0;
      m.lock();
      auto const when = clock::now() + 3ms;
      for (int i = 0; i < 400; ++i) {
        all.go([&, i] {
          if (i % 8 == 0) {
            std::unique_lock writing(m, std::defer_lock);
            if (i % 16 == 0 ? writing.try_lock_until(when) : (writing.lock(), true)) {
              EXPECT_EQ(writers.fetch_add(1), 0);
              ++guarded;
              ++written;
              --writers;
            }
            return;
          }
          std::shared_lock reading(m, std::defer_lock);
          if (i % 3 == 0 ? reading.try_lock_until(when) : (reading.lock(), true)) {
            EXPECT_EQ(writers, 0);
            EXPECT_EQ(guarded, written);
            thrum::yield();
          }
        });
      }
      while (clock::now() < when) thrum::yield();
      m.unlock();
      all.wait();
      EXPECT_TRUE(m.try_lock()) << "the lock is free";
      m.unlock();
    }
  });
}

TEST(broadcast, permits_are_given_out_exactly_beside_time_limits) {
  run_at(2, [] {
    for (std::int64_t round = 0; round < scaled(60, 6); ++round) {
      semaphore permits(0);
      wait_group all;
      std::atomic<std::int64_t> taken = 0;
      auto const when = clock::now() + 3ms;
      for (int i = 0; i < 400; ++i) {
        all.go([&, i] {
          if (i % 2 == 0) {
            permits.acquire(1);
            ++taken;
          } else if (permits.try_acquire_until(when, 1)) {
            ++taken;
          }
        });
      }
      while (clock::now() < when) thrum::yield();
      permits.release(400);
      all.wait();
      EXPECT_GE(taken, 200);
      EXPECT_EQ(
          taken + 0, 400 - [&] {
            std::int64_t left = 0;
            while (permits.try_acquire(1)) ++left;
            return left;
          }());
    }
  });
}

}  // namespace
}  // namespace thrum
