// mutex and shared_mutex with a timeout. A goroutine that gives up consumes no wake-up that others need, and leaves no
// flag that keeps them waiting.
#include "base/random.h"
#include "os/clock.h"
#include "os/fault.h"
#include "sched/records.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <new>
#include <shared_mutex>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::run_at;
using test::scaled;

bool a_writer_waits(shared_mutex const& m) {
  return test::goroutine_is_parked_on(static_cast<void const*>(reinterpret_cast<char const*>(&m) + 3));
}
bool a_reader_waits(shared_mutex const& m) {
  return test::goroutine_is_parked_on(static_cast<void const*>(reinterpret_cast<char const*>(&m) + 2));
}

class timed_locks : public test::at_every_width {};

TEST_P(timed_locks, a_mutex_that_is_free_or_comes_free_in_time_is_locked) {
  run([] {
    mutex guard;
    ASSERT_TRUE(guard.try_lock_for(0ns));
    wait_group all;
    all.go([&] {
      std::unique_lock const lock(guard, 1h);  // TimedLockable
      EXPECT_TRUE(lock.owns_lock());
    });
    ASSERT_TRUE(test::wait_until([&] { return test::goroutine_is_parked_on(&guard); }));
    guard.unlock();
    all.wait();
    EXPECT_TRUE(guard.try_lock_until(clock::now() - 1s)) << "it is free: the time does not matter";
    guard.unlock();
  });
}

TEST_P(timed_locks, a_mutex_that_stays_locked_is_given_up_in_time_and_not_before) {
  run([] {
    mutex guard;
    guard.lock();
    auto const before = clock::now();
    EXPECT_FALSE(guard.try_lock_for(2ms));
    EXPECT_GE(clock::now() - before, 2ms);
    EXPECT_FALSE(guard.try_lock_for(-1h));
    EXPECT_FALSE(guard.try_lock_until(clock::now() + 1ms));
    EXPECT_FALSE(guard.try_lock_until(std::chrono::system_clock::now() + 1ms)) << "another clock will do";
    EXPECT_FALSE(test::goroutine_is_parked_on(&guard));
    guard.unlock();
    ASSERT_TRUE(guard.try_lock());
    guard.unlock();
  });
}

TEST_P(timed_locks, a_time_that_never_comes_is_as_good_as_none) {
  run([] {
    mutex guard;
    shared_mutex shared;
    guard.lock();
    shared.lock();
    wait_group all;
    all.go([&] { EXPECT_TRUE(guard.try_lock_for(std::chrono::hours::max())); });
    all.go([&] { EXPECT_TRUE(shared.try_lock_shared_until(clock::time_point::max())); });
    ASSERT_TRUE(test::wait_until([&] { return test::goroutine_is_parked_on(&guard) && a_reader_waits(shared); }));
    guard.unlock();
    shared.unlock();
    all.wait();
  });
}

// Wakers and timers race for the same waiters, while other goroutines lock the mutex before the waiters that were
// woken. A lost wake-up shows as a hang.
TEST_P(timed_locks, SY_01_a_mutex_beside_waiters_that_give_up_neither_hangs_nor_lets_two_in) {
  constexpr int goroutines = 12;
  std::int64_t const rounds = scaled(1500, 50);
  std::int64_t counter = 0;  // plain
  std::atomic<std::int64_t> taken{0};
  std::atomic<std::int64_t> given_up{0};
  run([&] {
    mutex guard;
    wait_group all;
    for (int i = 0; i < goroutines; ++i) {
      all.go([&, random = rt::random_source(static_cast<std::uint64_t>(i) + 1)]() mutable {
        for (std::int64_t n = 0; n < rounds; ++n) {
          if (random.below(3) == 0) {
            guard.lock();
          } else if (!guard.try_lock_for(std::chrono::microseconds(random.below(100)))) {
            ++given_up;
            continue;
          }
          ++counter;
          ++taken;
          for (std::uint32_t yields = random.below(4); yields > 0; --yields) thrum::yield();
          if (random.below(200) == 0) thrum::sleep_for(1500us);  // long enough to starve the others
          guard.unlock();
        }
      });
    }
    all.wait();
    EXPECT_TRUE(guard.try_lock());
    guard.unlock();
  });
  EXPECT_EQ(counter, taken.load());
  EXPECT_EQ(taken + given_up, goroutines * rounds);
}

// --- shared_mutex ---

TEST_P(timed_locks, a_shared_mutex_is_given_up_in_time_and_not_before) {
  run([] {
    shared_mutex guard;
    guard.lock();
    auto const before = clock::now();
    EXPECT_FALSE(guard.try_lock_for(1ms));
    EXPECT_FALSE(guard.try_lock_shared_for(1ms));
    EXPECT_GE(clock::now() - before, 2ms);
    EXPECT_FALSE(guard.try_lock_until(clock::now() - 1ms));
    EXPECT_FALSE(guard.try_lock_shared_until(clock::now() - 1ms));
    guard.unlock();
    ASSERT_TRUE(guard.try_lock_shared_for(0s));
    EXPECT_FALSE(guard.try_lock_for(1ms));
    EXPECT_TRUE(guard.try_lock_shared_for(1ms)) << "no writer waits any more";
    guard.unlock_shared();
    guard.unlock_shared();
    ASSERT_TRUE(guard.try_lock_for(0s));
    guard.unlock();
  });
}

TEST_P(timed_locks, SY_07_a_writer_that_gives_up_lets_in_the_readers_that_waited_for_it) {
  run([] {
    shared_mutex guard;
    guard.lock_shared();
    std::atomic<bool> gave_up{false};
    std::atomic<int> inside{0};
    wait_group all;
    all.go([&] {
      EXPECT_FALSE(guard.try_lock_for(50ms));
      gave_up = true;
    });
    ASSERT_TRUE(test::wait_until([&] { return a_writer_waits(guard) || gave_up; }));
    for (int i = 0; i < 3; ++i) {
      all.go([&] {
        guard.lock_shared();
        ++inside;
        guard.unlock_shared();
      });
    }
    ASSERT_TRUE(test::wait_until([&] { return inside == 3; })) << "we are still inside ourselves";
    guard.unlock_shared();
    all.wait();
    EXPECT_TRUE(gave_up);
    EXPECT_TRUE(guard.try_lock());
    guard.unlock();
  });
}

TEST_P(timed_locks, SY_01_a_shared_mutex_beside_waiters_that_give_up_neither_hangs_nor_lets_two_in) {
  constexpr int goroutines = 12;
  std::int64_t const rounds = scaled(1500, 50);
  std::int64_t written = 0;  // plain
  std::int64_t also_written = 0;
  std::atomic<std::int64_t> writes{0};
  std::atomic<int> torn{0};
  run([&] {
    shared_mutex guard;
    wait_group all;
    for (int i = 0; i < goroutines; ++i) {
      all.go([&, random = rt::random_source(static_cast<std::uint64_t>(i) + 1)]() mutable {
        for (std::int64_t n = 0; n < rounds; ++n) {
          auto const limit = std::chrono::microseconds(random.below(60));
          std::uint32_t yields = random.below(4);
          if (random.below(4) == 0) {
            if (random.below(2) == 0) {
              guard.lock();
            } else if (!guard.try_lock_for(limit)) {
              continue;
            }
            ++written;
            for (; yields > 0; --yields) thrum::yield();
            ++also_written;
            ++writes;
            guard.unlock();
          } else {
            if (random.below(2) == 0) {
              guard.lock_shared();
            } else if (!guard.try_lock_shared_for(limit)) {
              continue;
            }
            if (written != also_written) ++torn;
            for (; yields > 0; --yields) thrum::yield();
            if (written != also_written) ++torn;
            guard.unlock_shared();
          }
        }
      });
    }
    all.wait();
    EXPECT_TRUE(guard.try_lock()) << "the lock is free";
    guard.unlock();
  });
  EXPECT_EQ(torn.load(), 0);
  EXPECT_EQ(written, writes.load());
}

THRUM_AT_EVERY_WIDTH(timed_locks);

// A waiter makes the mutex fair, and gives up before it has its turn.
TEST(timed_mutex, one_that_starved_and_gave_up_does_not_hold_others_up) {
  // Longer and longer: on a slow machine it may give up before it has starved.
  auto const starves = [](bool with_newcomer, std::chrono::milliseconds limit) {
    bool has_starved = false;
    run_at(1, [&] {
      mutex guard;
      wait_group all;
      guard.lock();
      std::atomic<bool> gave_up{false};
      all.go([&] {
        EXPECT_FALSE(guard.try_lock_for(limit));
        gave_up = true;
      });
      thrum::yield();  // it waits
      std::int64_t const until_ns = rt::os::monotonic_ns() + 1'500'000;
      while (rt::os::monotonic_ns() < until_ns) rt::cpu_relax();
      guard.unlock();                 // it is woken
      ASSERT_TRUE(guard.try_lock());  // and comes too late
      thrum::yield();                 // it waits again, first of all from now on
      has_starved = !gave_up;
      ASSERT_TRUE(test::wait_until([&] { return gave_up.load(); }));
      if (with_newcomer) {
        all.go([&] {
          guard.lock();
          guard.unlock();
        });
        thrum::yield();
      }
      guard.unlock();
      all.wait();
      EXPECT_TRUE(guard.try_lock());
      guard.unlock();
    });
    return has_starved;
  };
  for (bool const with_newcomer : {false, true}) {
    auto limit = 20ms;
    for (; !starves(with_newcomer, limit); limit *= 2) ASSERT_LT(limit, 10s);
  }
}

// At P=1 no thread is made meanwhile that would miss the memory.
TEST(timed_mutex, T10_without_memory_for_a_timer_nothing_has_happened) {
  run_at(1, [] {
    test::leave_m0();
    rt::enter_runtime(*rt::current_m());
    rt::put_sudog(test::this_p(), rt::take_sudog(test::this_p()));  // the waiter itself is there
    rt::leave_runtime(*rt::current_m());
    mutex guard;
    shared_mutex shared;
    guard.lock();
    shared.lock();
    rt::os::inject_fault(rt::os::call::mmap, ENOMEM, 0, rt::os::fault_for_good);
    EXPECT_THROW(static_cast<void>(guard.try_lock_for(1ms)), std::bad_alloc);
    EXPECT_THROW(static_cast<void>(shared.try_lock_for(1ms)), std::bad_alloc);
    EXPECT_THROW(static_cast<void>(shared.try_lock_shared_for(1ms)), std::bad_alloc);
    rt::os::clear_faults();
    guard.unlock();
    shared.unlock();
    EXPECT_TRUE(guard.try_lock());
    EXPECT_TRUE(shared.try_lock());
    guard.unlock();
    shared.unlock();
  });
}

}  // namespace
}  // namespace thrum
