// Mutexes without an owner: normal and adaptive.
#include "posix_locks/locks.h"
#include "support/slices.h"
#include "support/threads_at_work.h"

#include <cerrno>
#include <mutex>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace thrum::test {
namespace {

class posix_mutexes : public at_every_width {};
THRUM_AT_WIDTHS(posix_mutexes, 1, 2, 8);

// As threads, these two would continue. As goroutines on one thread and without thrum::posix_locks, the second would
// sleep for good, and with it the first.
TEST_P(posix_mutexes, T08_a_lock_held_over_a_read_that_waits_keeps_only_its_waiters) {
  without_slices const uninterrupted;
  run([] {
    auto pipe = make_pipe();
    std::mutex guarded;
    std::atomic<int> steps{0};
    wait_group all;
    all.go([&] {
      std::lock_guard const held(guarded);
      char byte = 0;
      EXPECT_EQ(::read(pipe.first, &byte, 1), 1);
      EXPECT_EQ(++steps, 1);
    });
    ASSERT_TRUE(until_waiting(rt::wait_reason::io, 1));
    for (int i = 0; i < 20; ++i) {
      all.go([&] {
        int const tid = rt::os::current_tid();
        std::lock_guard const held(guarded);
        EXPECT_EQ(rt::os::current_tid(), tid);
        EXPECT_GT(++steps, 1);
      });
    }
    ASSERT_TRUE(until_waiting(rt::wait_reason::mutex, 20));
    EXPECT_TRUE(few_threads_work(procs() + 4)) << threads_at_work();
    EXPECT_EQ(::write(pipe.second, "x", 1), 1);
    all.wait();
    EXPECT_EQ(steps, 21);
    EXPECT_TRUE(no_goroutine_is_at_home());
  });
}

void count_together(int procs, int kind) {
  constexpr int goroutines = 16;
  constexpr int threads = 3;
  std::int64_t const rounds = scaled(2000, 100);
  mutex_of_kind guarded(kind);
  std::int64_t counter = 0;
  auto const body = [&](bool yields) {
    for (std::int64_t i = 0; i < rounds; ++i) {
      guarded.lock();
      std::int64_t const before = counter;
      if (i % 16 == 0) yields ? thrum::yield() : rt::os::yield_thread();
      counter = before + 1;
      guarded.unlock();
    }
  };
  std::vector<std::thread> plain;
  run_at(procs, [&] {
    for (int i = 0; i < threads; ++i) plain.emplace_back([&] { body(false); });
    wait_group all;
    for (int i = 0; i < goroutines; ++i) all.go([&] { body(true); });
    all.wait();
    for (std::thread& each : plain) each.join();
    EXPECT_TRUE(no_goroutine_is_at_home());
  });
  EXPECT_EQ(counter, (goroutines + threads) * rounds);
}

TEST_P(posix_mutexes, T08_goroutines_and_threads_count_together) { count_together(procs(), PTHREAD_MUTEX_NORMAL); }
TEST_P(posix_mutexes, T08_and_with_adaptive_ones) { count_together(procs(), PTHREAD_MUTEX_ADAPTIVE_NP); }

TEST_P(posix_mutexes, T08_a_thread_that_unlocks_wakes_the_goroutine) {
  run([] {
    std::mutex guarded;
    std::atomic<int> step{0};
    std::thread owner([&] {
      std::lock_guard const held(guarded);
      step = 1;
      EXPECT_TRUE(spin_until([&] { return step == 2; }));
    });
    ASSERT_TRUE(wait_until([&] { return step == 1; }));
    wait_group all;
    all.go([&] { std::lock_guard const held(guarded); });
    ASSERT_TRUE(until_waiting(rt::wait_reason::mutex, 1));
    step = 2;
    all.wait();
    owner.join();
  });
}

TEST_P(posix_mutexes, goroutines_are_told_what_threads_are_told) {
  THRUM_SKIP_WHAT_IS_WRONG();
  answers_alike(procs(), [](caller& c) {
    mutex_of_kind free(PTHREAD_MUTEX_NORMAL);
    mutex_of_kind taken(PTHREAD_MUTEX_NORMAL);
    std::atomic<int> step{0};
    partner const owner([&] {
      taken.lock();
      step = 1;
      c.until_it_waits();
      taken.unlock();
    });
    EXPECT_TRUE(wait_until([&] { return step == 1; }));
    timespec const past = moment_from_now(CLOCK_REALTIME, -1'000'000);
    timespec const soon = moment_from_now(CLOCK_MONOTONIC, 2'000'000);
    timespec const late = moment_from_now(CLOCK_REALTIME, 3600'000'000'000);
    timespec const long_ago{-5, 0};
    timespec wrong = late;
    wrong.tv_nsec = 1'000'000'000;
    answers got{::pthread_mutex_trylock(free.get()),
                ::pthread_mutex_trylock(free.get()),
                ::pthread_mutex_unlock(free.get()),
                ::pthread_mutex_timedlock(free.get(), &wrong),
                ::pthread_mutex_unlock(free.get()),
                ::pthread_mutex_trylock(taken.get()),
                ::pthread_mutex_timedlock(taken.get(), &past),
                ::pthread_mutex_timedlock(taken.get(), &long_ago),
                ::pthread_mutex_timedlock(taken.get(), &wrong),
                ::pthread_mutex_clocklock(taken.get(), CLOCK_MONOTONIC, &soon),
                ::pthread_mutex_clocklock(taken.get(), CLOCK_PROCESS_CPUTIME_ID, &late)};
    c.next();
    got.emplace_back(::pthread_mutex_timedlock(taken.get(), &late));
    got.emplace_back(::pthread_mutex_unlock(taken.get()));
    return got;
  });
}

TEST_P(posix_mutexes, a_wait_leaves_errno_alone) {
  run([] {
    std::mutex guarded;
    guarded.lock();
    wait_group all;
    all.go([&] {
      errno = EXDEV;
      std::lock_guard const held(guarded);
      EXPECT_EQ(errno, EXDEV);
    });
    ASSERT_TRUE(until_waiting(rt::wait_reason::mutex, 1));
    errno = EDOM;
    guarded.unlock();
    EXPECT_EQ(errno, EDOM);
    all.wait();
  });
}

// Some of the goroutines whose timeout ends were chosen at that moment.
TEST_P(posix_mutexes, T08_limits_of_time_lose_no_wake_up) {
  run([] {
    std::int64_t const rounds = scaled(300, 30);
    mutex_of_kind guarded(PTHREAD_MUTEX_NORMAL);
    std::atomic<std::int64_t> counted{0};
    std::int64_t counter = 0;
    wait_group all;
    for (int i = 0; i < 12; ++i) {
      all.go([&, i] {
        for (std::int64_t n = 0; n < rounds; ++n) {
          if (i % 3 == 0) {
            guarded.lock();
          } else {
            timespec const soon = moment_from_now(CLOCK_MONOTONIC, (i * 7 + n) % 90 * 1000);
            int const answer = ::pthread_mutex_clocklock(guarded.get(), CLOCK_MONOTONIC, &soon);
            EXPECT_TRUE(answer == 0 || answer == ETIMEDOUT) << answer;
            if (answer != 0) continue;
          }
          ++counter;
          ++counted;
          if (n % 4 == 0) thrum::yield();
          guarded.unlock();
        }
      });
    }
    all.wait();
    EXPECT_EQ(counter, counted);
  });
}

// The next owner may free it at once.
TEST_P(posix_mutexes, T08_the_mutex_is_not_touched_after_the_unlock) {
  run([] {
    std::int64_t const rounds = scaled(2000, 100);
    for (std::int64_t i = 0; i < rounds; ++i) {
      auto guarded = std::make_unique<std::mutex>();
      guarded->lock();
      auto* const it = guarded.get();
      wait_group all;
      all.go([its = std::move(guarded)]() mutable {
        its->lock();
        its->unlock();
        its.reset();
      });
      if (i % 2 == 0) thrum::yield();
      it->unlock();
      all.wait();
    }
  });
}

// --- glibc unlocks by itself in pthread_cond_wait ---

TEST_P(posix_mutexes, T08_a_thread_that_waits_for_a_condition_lets_the_goroutine_in) {
  run([] {
    mutex_of_kind guarded(PTHREAD_MUTEX_NORMAL);
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    std::atomic<int> step{0};
    bool is_set = false;
    std::thread waits([&] {
      guarded.lock();
      step = 1;
      EXPECT_TRUE(spin_until([&] { return step == 2; }));
      while (!is_set) EXPECT_EQ(::pthread_cond_wait(&changed, guarded.get()), 0);
      guarded.unlock();
    });
    ASSERT_TRUE(wait_until([&] { return step == 1; }));
    wait_group all;
    for (int i = 0; i < 3; ++i) {
      all.go([&] {
        guarded.lock();
        is_set = true;
        guarded.unlock();
      });
    }
    ASSERT_TRUE(until_waiting(rt::wait_reason::mutex, 3));
    step = 2;
    all.wait();
    EXPECT_EQ(::pthread_cond_signal(&changed), 0);
    waits.join();
  });
}

TEST_P(posix_mutexes, T08_and_does_so_always) {
  std::int64_t const rounds = scaled(3000, 200);
  mutex_of_kind guarded(PTHREAD_MUTEX_NORMAL);
  pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
  std::int64_t of_threads = 0;
  std::int64_t of_goroutines = 0;
  run([&] {
    // Threads and goroutines lock the mutex in turn. Only threads wait for the condition variable, and only these
    // threads would wake the goroutines.
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&] {
        guarded.lock();
        while (of_goroutines < rounds) {
          ++of_threads;
          timespec const soon = moment_from_now(CLOCK_REALTIME, 1'000'000);
          static_cast<void>(::pthread_cond_timedwait(&changed, guarded.get(), &soon));
        }
        guarded.unlock();
      });
    }
    wait_group all;
    for (int i = 0; i < 4; ++i) {
      all.go([&] {
        for (bool goes_on = true; goes_on;) {
          guarded.lock();
          goes_on = ++of_goroutines < rounds;
          guarded.unlock();
          ::pthread_cond_signal(&changed);
          thrum::yield();
        }
      });
    }
    all.wait();
    ::pthread_cond_broadcast(&changed);
    for (std::thread& each : threads) each.join();
  });
  EXPECT_GE(of_goroutines, rounds);
}

// --- where it is the plain call ---

// A thread unlocks where it cannot ready goroutines: in a signal handler, which may have interrupted the runtime, or
// with a signal mask of its own.
TEST_P(posix_mutexes, T08_an_unlock_inside_the_runtime_wakes_all_the_same) {
  run([] {
    mutex_of_kind guarded(PTHREAD_MUTEX_NORMAL);
    for (bool const is_inside : {false, true}) {
      guarded.lock();
      wait_group all;
      ASSERT_TRUE(let_wait(all, guarded, 3));
      if (is_inside) {
        test::inside_runtime const inside;
        EXPECT_EQ(::pthread_mutex_unlock(guarded.get()), 0);
      } else {
        changed_mask const mask;
        guarded.unlock();
      }
      all.wait();
    }
  });
}

TEST_P(posix_mutexes, other_kinds_are_what_they_always_were) {
  answers_alike(procs(), [](caller&) {
    answers got;
    auto const try_all = [&](auto set) {
      pthread_mutexattr_t attributes;
      ::pthread_mutexattr_init(&attributes);
      EXPECT_EQ(set(&attributes), 0);
      pthread_mutex_t one;
      EXPECT_EQ(::pthread_mutex_init(&one, &attributes), 0);
      ::pthread_mutexattr_destroy(&attributes);
      pthread_cond_t never = PTHREAD_COND_INITIALIZER;
      timespec const soon = moment_from_now(CLOCK_REALTIME, 1'000'000);
      got.emplace_back(::pthread_mutex_lock(&one));
      got.emplace_back(::pthread_mutex_trylock(&one));
      got.emplace_back(::pthread_cond_timedwait(&never, &one, &soon));
      got.emplace_back(::pthread_mutex_unlock(&one));
      got.emplace_back(::pthread_mutex_destroy(&one));
    };
    try_all([](auto* a) { return ::pthread_mutexattr_setrobust(a, PTHREAD_MUTEX_ROBUST); });
    try_all([](auto* a) { return ::pthread_mutexattr_setprotocol(a, PTHREAD_PRIO_INHERIT); });
    try_all([](auto* a) { return ::pthread_mutexattr_setpshared(a, PTHREAD_PROCESS_SHARED); });
    return got;
  });
}

TEST_P(posix_mutexes, inside_blocking_the_thread_waits) {
  run([] {
    leave_m0();
    std::mutex guarded;
    guarded.lock();
    std::atomic<int> step{0};
    wait_group all;
    all.go([&] {
      blocking([&] {
        step = 1;
        std::lock_guard const held(guarded);
      });
    });
    ASSERT_TRUE(wait_until([&] { return step == 1; }));
    EXPECT_EQ(waiting_for(rt::wait_reason::mutex), 0);
    guarded.unlock();
    all.wait();
  });
}

// A run leaves behind the goroutines that wait when it ends. The next run must not touch them.
TEST_P(posix_mutexes, T12_a_goroutine_that_was_left_behind_is_not_woken_by_the_next_run) {
  static std::mutex guarded;
  guarded.lock();
  run([] {
    for (int i = 0; i < 3; ++i) thrum::go([] { std::lock_guard const held(guarded); });
    ASSERT_TRUE(until_waiting(rt::wait_reason::mutex, 3));
  });
  guarded.unlock();
  run([] {
    guarded.lock();
    wait_group all;
    all.go([] { std::lock_guard const held(guarded); });
    ASSERT_TRUE(until_waiting(rt::wait_reason::mutex, 1));
    guarded.unlock();
    all.wait();
  });
}

}  // namespace
}  // namespace thrum::test
