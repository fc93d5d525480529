// pthread_cond_broadcast to a crowd. The waker releases the lock of the bucket in between, so timeouts end, goroutines
// begin to wait and other threads signal in the middle of it.
#include "posix_locks/lock_waiters.h"
#include "posix_locks/locks.h"
#include "support/tries.h"

#include <atomic>
#include <cerrno>
#include <deque>
#include <thread>

namespace thrum::test {
namespace {

struct gate {
  mutex_of_kind guarded{PTHREAD_MUTEX_NORMAL};
  pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
  std::int64_t tokens = 0;  // guarded

  void add(std::int64_t count) {
    guarded.lock();
    tokens += count;
    guarded.unlock();
  }
  void take() {
    guarded.lock();
    while (tokens == 0) EXPECT_EQ(::pthread_cond_wait(&changed, guarded.get()), 0);
    --tokens;
    guarded.unlock();
  }
  // Returns false if the time was over.
  bool take_until(timespec const& when) {
    guarded.lock();
    int result = 0;
    while (tokens == 0 && result == 0) {
      result = ::pthread_cond_timedwait(&changed, guarded.get(), &when);
      EXPECT_TRUE(result == 0 || result == ETIMEDOUT) << result;
    }
    bool const took = tokens > 0;
    if (took) --tokens;
    guarded.unlock();
    return took;
  }
};

enum class broadcaster : bool { goroutine, thread };

// Broadcasts to many waiters, in which no goroutine parks. Returns true if a goroutine on the other P held the lock of
// the bucket when the first waiter was chosen and the last was not.
bool others_have_the_lock_meanwhile(broadcaster which) {
  std::int64_t const count = scaled(20'000, 1'000);
  pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
  std::deque<posix::lock_waiter> waiters;
  for (std::int64_t i = 0; i < count; ++i) {
    EXPECT_TRUE(waiters.emplace_back(&changed, posix::waited_object::condition).enter());
  }
  std::atomic<bool> looks = false;
  std::atomic<bool> is_over = false;
  bool seen = false;
  wait_group all;
  all.go([&] {
    looks = true;
    while (!is_over) {
      bool const has_begun = waiters.front().is_chosen();
      seen = seen || (has_begun && !waiters.back().is_chosen());
    }
  });
  EXPECT_TRUE(wait_until([&] { return looks.load(); }));
  auto const broadcast = [&] { EXPECT_EQ(::pthread_cond_broadcast(&changed), 0); };
  if (which == broadcaster::goroutine) {
    broadcast();
  } else {
    std::thread(broadcast).join();
  }
  is_over = true;
  all.wait();
  std::int64_t chosen = 0;
  for (posix::lock_waiter& each : waiters) chosen += each.leave() ? 1 : 0;
  EXPECT_EQ(chosen, count);
  return seen;
}

TEST(posix_broadcast, lets_others_have_the_lock_while_it_wakes_many_waiters) {
  for (broadcaster const which : {broadcaster::goroutine, broadcaster::thread}) {
    run_at(2, [&] { EXPECT_TRUE(shows_in_some_try([&] { return others_have_the_lock_meanwhile(which); })); });
  }
}

// The walk stands for a broadcast that is in the middle of its work.
TEST(posix_broadcast, leaves_a_signal_to_a_goroutine_that_came_after_it_began) {
  run_at(1, [] {
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    posix::address_bucket& bucket = posix::bucket_to_lock(&changed, posix::waited_object::condition);
    auto const under_lock = [&](auto step) {
      rt::runtime_mark const mark;
      rt::os::lock_guard const guard(bucket.lock);
      step();
    };
    posix::lock_waiter before(&changed, posix::waited_object::condition);
    ASSERT_TRUE(before.enter());
    posix::bucket_walk walk{&changed, 0, &before, nullptr};
    under_lock([&] {
      walk.until = bucket.entered;
      bucket.walks = &walk;
    });
    posix::lock_waiter after(&changed, posix::waited_object::condition);
    ASSERT_TRUE(after.enter());
    EXPECT_EQ(::pthread_cond_signal(&changed), 0);
    EXPECT_TRUE(after.is_chosen());
    EXPECT_EQ(::pthread_cond_signal(&changed), 0);
    EXPECT_FALSE(before.is_chosen()) << "the broadcast is going to choose it";
    EXPECT_TRUE(before.leave()) << "a timeout before the broadcast has come to it changes nothing";
    under_lock([&] {
      EXPECT_EQ(walk.at, &after) << "the broadcast goes on behind a waiter that has left";
      bucket.walks = nullptr;
    });
    EXPECT_TRUE(after.leave());
  });
}

// There are as many tokens as goroutines. A goroutine that finds no token because another one was quicker waits a
// second time, during the broadcast, and is woken by one of the signals.
TEST(posix_broadcast, takes_no_signal_away_from_goroutines_that_come_meanwhile) {
  for (broadcaster const which : {broadcaster::goroutine, broadcaster::thread}) {
    run_at(4, [&] {
      for (std::int64_t round = 0; round < scaled(40, 4); ++round) {
        constexpr int waiters = 1'000;
        constexpr int newcomers = 100;
        gate its;
        std::atomic<int> taken = 0;
        wait_group all;
        auto const take = [&] {
          its.take();
          ++taken;
        };
        for (int i = 0; i < waiters; ++i) all.go(take);
        EXPECT_TRUE(until_waiting(rt::wait_reason::condition_variable, waiters));
        std::atomic<bool> begins = false;
        all.go([&] {
          while (!begins) rt::os::yield_thread();
          for (int i = 0; i < newcomers; ++i) {
            all.go(take);
            its.add(1);
            EXPECT_EQ(::pthread_cond_signal(&its.changed), 0);
          }
        });
        its.add(waiters);
        auto const broadcast = [&] {
          begins = true;
          EXPECT_EQ(::pthread_cond_broadcast(&its.changed), 0);
        };
        if (which == broadcaster::goroutine) {
          broadcast();
        } else {
          std::thread(broadcast).join();
        }
        bool const all_have_one = wait_until([&] { return taken == waiters + newcomers; });
        EXPECT_TRUE(all_have_one) << taken << " of " << waiters + newcomers;
        ::pthread_cond_broadcast(&its.changed);  // so that the test ends also if it has failed
        all.wait();
      }
    });
  }
}

TEST(posix_broadcast, meets_time_limits_that_end) {
  run_at(2, [] {
    for (std::int64_t round = 0; round < scaled(60, 6); ++round) {
      constexpr int count = 400;
      gate its;
      std::atomic<int> in_time = 0;
      std::atomic<int> late = 0;
      wait_group all;
      timespec const when = moment_from_now(CLOCK_REALTIME, 5'000'000);
      for (int i = 0; i < count; ++i) {
        all.go([&, i] {
          if (i % 2 == 0) {
            its.take();
            ++in_time;
          } else {
            ++(its.take_until(when) ? in_time : late);
          }
        });
      }
      timespec now{};
      do {
        thrum::yield();
        ::clock_gettime(CLOCK_REALTIME, &now);
      } while (now.tv_sec < when.tv_sec || (now.tv_sec == when.tv_sec && now.tv_nsec < when.tv_nsec));
      its.add(count);
      EXPECT_EQ(::pthread_cond_broadcast(&its.changed), 0);
      all.wait();
      EXPECT_GE(in_time, count / 2);
      EXPECT_EQ(in_time + late, count);
      EXPECT_EQ(its.tokens, late);
    }
  });
}

// The last goroutine that leaves destroys the condition variable, and the next round has its own at the same address.
TEST(posix_broadcast, may_be_followed_by_the_end_of_the_condition_variable) {
  run_at(2, [] {
    gate its;
    for (std::int64_t round = 0; round < scaled(200, 20); ++round) {
      constexpr int count = 300;
      std::atomic<int> left = count;
      wait_group all;
      wait_group is_destroyed;
      is_destroyed.add(1);
      for (int i = 0; i < count; ++i) {
        all.go([&] {
          its.take();
          if (--left != 0) return;
          EXPECT_EQ(::pthread_cond_destroy(&its.changed), 0);
          EXPECT_EQ(::pthread_cond_init(&its.changed, nullptr), 0);
          is_destroyed.done();
        });
      }
      EXPECT_TRUE(until_waiting(rt::wait_reason::condition_variable, count));
      its.add(count);
      EXPECT_EQ(::pthread_cond_broadcast(&its.changed), 0);
      is_destroyed.wait();
      all.wait();
    }
  });
}

}  // namespace
}  // namespace thrum::test
