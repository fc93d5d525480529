// Mutexes with an owner: recursive and errorcheck.
#include "posix_locks/locks.h"
#include "support/slices.h"

#include <cerrno>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

namespace thrum::test {
namespace {

class posix_owned_mutexes : public at_every_width {};
THRUM_AT_WIDTHS(posix_owned_mutexes, 1, 2, 8);

TEST_P(posix_owned_mutexes, T08_a_recursive_one_keeps_goroutines_of_one_thread_apart_and_counts) {
  run([] {
    std::int64_t const rounds = scaled(300, 30);
    mutex_of_kind guarded(PTHREAD_MUTEX_RECURSIVE);
    std::atomic<int> inside{0};
    std::int64_t counter = 0;
    auto const body = [&](bool is_goroutine) {
      for (std::int64_t i = 0; i < rounds; ++i) {
        guarded.lock();
        {
          alone const here(inside);
          int const tid = rt::os::current_tid();
          guarded.lock();
          EXPECT_EQ(::pthread_mutex_trylock(guarded.get()), 0);
          std::int64_t const before = counter;
          is_goroutine ? thrum::yield() : rt::os::yield_thread();
          EXPECT_EQ(rt::os::current_tid(), tid);
          guarded.unlock();
          guarded.unlock();
          if (is_goroutine && i % 8 == 0) thrum::yield();
          counter = before + 1;
        }
        guarded.unlock();
      }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) threads.emplace_back([&] { body(false); });
    wait_group all;
    for (int i = 0; i < 8; ++i) all.go([&] { body(true); });
    all.wait();
    for (std::thread& each : threads) each.join();
    EXPECT_EQ(counter, 10 * rounds);
    EXPECT_TRUE(no_goroutine_is_at_home());
  });
}

TEST_P(posix_owned_mutexes, T08_the_owner_stays_on_its_thread_whatever_it_waits_for) {
  run([] {
    std::recursive_mutex guarded;
    chan<int> wakes(0);
    wait_group all;
    for (int i = 0; i < 8; ++i) {
      all.go([&] {
        std::lock_guard const held(guarded);
        int const tid = rt::os::current_tid();
        static_cast<void>(wakes.recv());
        EXPECT_EQ(rt::os::current_tid(), tid);
        sleep_for(std::chrono::microseconds(50));
        EXPECT_EQ(rt::os::current_tid(), tid);
        blocking([] { rt::os::yield_thread(); });
        EXPECT_EQ(rt::os::current_tid(), tid);
      });
    }
    for (int i = 0; i < 8; ++i) wakes.send(i);
    all.wait();
    EXPECT_TRUE(no_goroutine_is_at_home());
  });
}

// Goroutines that hold such a mutex yield, and so do `others`, which may be more than a run queue holds. The threads
// are home to further goroutines, which wait until a thread unlocks another mutex. These get their turn all the same.
void yield_beside_neighbours(int others) {
  int const width = max_procs();
  mutex_of_kind wanted(PTHREAD_MUTEX_NORMAL);
  std::atomic<int> step{0};
  partner const owner([&] {
    wanted.lock();
    step = 1;
    EXPECT_TRUE(spin_until([&] { return step == 2; }));
    wanted.unlock();
  });
  ASSERT_TRUE(wait_until([&] { return step == 1; }));
  std::atomic<int> had{0};
  auto const all_had_it = [&] { return had == width; };
  wait_group all;
  for (int i = 0; i < width; ++i) {
    all.go([&] {
      wanted.lock();
      wanted.unlock();
      ++had;
    });
  }
  ASSERT_TRUE(until_waiting(rt::wait_reason::mutex, width));
  for (int i = 0; i < others; ++i) {
    all.go([&] { EXPECT_TRUE(yield_until(all_had_it)); });
  }
  for (int i = 0; i < 2 * width; ++i) {
    all.go([&] {
      std::recursive_mutex its_own;
      std::lock_guard const held(its_own);
      step = 2;
      EXPECT_TRUE(yield_until(all_had_it));
    });
  }
  all.wait();
  EXPECT_TRUE(no_goroutine_is_at_home());
}

TEST_P(posix_owned_mutexes, T08_an_owner_that_yields_lets_its_neighbours_go_on) {
  run([] {
    leave_m0();
    yield_beside_neighbours(0);
  });
}

TEST_P(posix_owned_mutexes, T08_and_so_it_does_in_a_crowd) {
  if (procs() > 2) GTEST_SKIP() << "two are a crowd";
  run([] {
    leave_m0();
    for (int const others : {300, 301, 500, 501, 700, 1000}) yield_beside_neighbours(others);
  });
}

TEST_P(posix_owned_mutexes, T08_they_need_not_be_unlocked_in_the_order_in_which_they_were_locked) {
  run([] {
    leave_m0();
    std::recursive_mutex first;
    std::recursive_mutex second;
    wait_group all;
    all.go([&] {
      rt::G const& g = this_g();
      first.lock();
      second.lock();
      first.unlock();
      EXPECT_TRUE(g.keeps_its_m());
      first.lock();
      second.unlock();
      EXPECT_TRUE(g.keeps_its_m());
      first.unlock();
      EXPECT_FALSE(g.keeps_its_m());
    });
    all.wait();
    EXPECT_TRUE(no_goroutine_is_at_home());
  });
}

TEST_P(posix_owned_mutexes, T08_with_more_than_can_be_counted_it_stays_until_it_ends) {
  THRUM_SKIP_SO_MANY_MUTEXES();
  run([] {
    leave_m0();
    wait_group all;
    all.go([] {
      std::vector<std::recursive_mutex> many(300);
      int const tid = rt::os::current_tid();
      for (std::recursive_mutex& each : many) each.lock();
      thrum::yield();
      EXPECT_EQ(rt::os::current_tid(), tid);
      for (std::recursive_mutex& each : many) each.unlock();
      EXPECT_TRUE(this_g().keeps_its_m());
    });
    all.wait();
    EXPECT_TRUE(wait_until([] { return no_goroutine_is_at_home(); }));
  });
}

TEST_P(posix_owned_mutexes, T08_and_lock_os_thread_may_come_in_between) {
  run([] {
    leave_m0();
    std::recursive_mutex guarded;
    wait_group all;
    all.go([&] {
      rt::G const& g = this_g();
      guarded.lock();
      int const tid = rt::os::current_tid();
      lock_os_thread();
      guarded.unlock();
      thrum::yield();
      EXPECT_TRUE(g.keeps_its_m());
      EXPECT_EQ(rt::os::current_tid(), tid);
      unlock_os_thread();
      EXPECT_FALSE(g.keeps_its_m());
      unlock_os_thread();  // one too many does nothing

      lock_os_thread();
      guarded.lock();
      int const other = rt::os::current_tid();
      unlock_os_thread();
      thrum::yield();
      EXPECT_TRUE(g.keeps_its_m());
      EXPECT_EQ(rt::os::current_tid(), other);
      unlock_os_thread();  // likewise, but its lock is still there
      EXPECT_TRUE(g.keeps_its_m());
      thrum::yield();
      EXPECT_EQ(rt::os::current_tid(), other);
      guarded.unlock();
      EXPECT_FALSE(g.keeps_its_m());
    });
    all.wait();
    EXPECT_TRUE(no_goroutine_is_at_home());
  });
}

// There it is locked to its thread, and not at home: on the first one, inside blocking(), and after lock_os_thread.
TEST_P(posix_owned_mutexes, T08_with_more_than_can_be_counted_where_it_is_locked_to_its_thread) {
  THRUM_SKIP_SO_MANY_MUTEXES();
  run([] {
    leave_m0();
    wait_group all;
    all.go([] {
      std::vector<std::recursive_mutex> many(300);
      lock_os_thread();
      int const tid = rt::os::current_tid();
      for (std::recursive_mutex& each : many) each.lock();
      for (int i = 0; i < 300; ++i) unlock_os_thread();
      thrum::yield();
      EXPECT_EQ(rt::os::current_tid(), tid);
      for (std::recursive_mutex& each : many) each.unlock();
      for (int i = 0; i < 300; ++i) unlock_os_thread();
      EXPECT_TRUE(this_g().keeps_its_m());
      EXPECT_EQ(this_g().lock_depth, 0);
      for (int i = 0; i < 300; ++i) {
        many[0].lock();
        many[0].unlock();
      }
      EXPECT_EQ(this_g().home_depth, rt::home_depth_max);
      EXPECT_TRUE(this_g().keeps_its_m());
    });
    all.wait();
    EXPECT_TRUE(wait_until([] { return no_goroutine_is_at_home(); }));
  });
}

TEST_P(posix_owned_mutexes, T08_errorcheck_knows_its_owner) {
  THRUM_SKIP_WHAT_IS_WRONG();
  run([] {
    leave_m0();
    mutex_of_kind guarded(PTHREAD_MUTEX_ERRORCHECK);
    EXPECT_EQ(::pthread_mutex_unlock(guarded.get()), EPERM);
    chan<int> steps(0);
    wait_group all;
    all.go([&] {
      guarded.lock();
      EXPECT_EQ(::pthread_mutex_lock(guarded.get()), EDEADLK);
      timespec const late = moment_from_now(CLOCK_REALTIME, 3600'000'000'000);
      EXPECT_EQ(::pthread_mutex_timedlock(guarded.get(), &late), EDEADLK);
      EXPECT_EQ(::pthread_mutex_trylock(guarded.get()), EBUSY);
      steps.send(1);
      static_cast<void>(steps.recv());
      guarded.unlock();
      EXPECT_EQ(::pthread_mutex_unlock(guarded.get()), EPERM);
    });
    static_cast<void>(steps.recv());
    // On its thread, at P=1, or on another one.
    EXPECT_EQ(::pthread_mutex_unlock(guarded.get()), EPERM);
    EXPECT_EQ(::pthread_mutex_trylock(guarded.get()), EBUSY);
    timespec const soon = moment_from_now(CLOCK_REALTIME, 1'000'000);
    EXPECT_EQ(::pthread_mutex_timedlock(guarded.get(), &soon), ETIMEDOUT);
    steps.send(2);
    guarded.lock();
    guarded.unlock();
    all.wait();
    EXPECT_TRUE(no_goroutine_is_at_home());
  });
}

// --- where the thread waits ---

TEST_P(posix_owned_mutexes, T08_with_a_changed_mask_another_of_its_thread_is_told_that_it_cannot_have_it) {
  run([] {
    leave_m0();
    for (int const kind : {PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK}) {
      int const expected = kind == PTHREAD_MUTEX_RECURSIVE ? EAGAIN : EDEADLK;
      mutex_of_kind guarded(kind);
      chan<int> steps(0);
      wait_group all;
      all.go([&] {
        guarded.lock();
        steps.send(rt::os::current_tid());
        static_cast<void>(steps.recv());
        guarded.unlock();
      });
      int const tid = *steps.recv();
      call_on_thread(tid, [&] {
        changed_mask const mask;
        timespec const late = moment_from_now(CLOCK_REALTIME, 3600'000'000'000);
        EXPECT_EQ(::pthread_mutex_lock(guarded.get()), expected);
        EXPECT_EQ(::pthread_mutex_timedlock(guarded.get(), &late), expected);
        EXPECT_EQ(::pthread_mutex_trylock(guarded.get()), EBUSY);
        EXPECT_EQ(::pthread_mutex_unlock(guarded.get()), EPERM);
        EXPECT_FALSE(this_g().keeps_its_m());
      });
      steps.send(0);
      all.wait();
      guarded.lock();  // it is free
      guarded.unlock();
    }
    EXPECT_TRUE(no_goroutine_is_at_home());
  });
}

TEST_P(posix_owned_mutexes, T08_what_it_got_with_a_changed_mask_is_its_own_and_keeps_it_on_its_thread) {
  without_slices const uninterrupted;
  run([] {
    leave_m0();
    for (int const kind : {PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK}) {
      mutex_of_kind guarded(kind);
      std::atomic<int> step{0};
      std::atomic<int> waits{0};
      partner const owner([&] {
        guarded.lock();
        step = 1;
        rt::os::thread_watch watch;
        EXPECT_TRUE(spin_until(
            [&] { return waits != 0 && watch.look(waits).activity == rt::os::thread_activity::sleeps_in_call; }));
        guarded.unlock();
      });
      ASSERT_TRUE(wait_until([&] { return step == 1; }));
      wait_group all;
      all.go([&] {
        int const tid = rt::os::current_tid();
        {
          changed_mask const mask;
          timespec const past = moment_from_now(CLOCK_REALTIME, -1'000'000);
          EXPECT_EQ(::pthread_mutex_timedlock(guarded.get(), &past), ETIMEDOUT);
          EXPECT_FALSE(this_g().keeps_its_m());
          waits = tid;
          guarded.lock();
        }
        EXPECT_TRUE(this_g().keeps_its_m());
        for (int i = 0; i < 20; ++i) thrum::yield();
        EXPECT_EQ(rt::os::current_tid(), tid);
        int answer = -1;
        call_on_thread(tid, [&] { answer = ::pthread_mutex_trylock(guarded.get()); });
        EXPECT_EQ(answer, EBUSY);
        guarded.unlock();
        EXPECT_FALSE(this_g().keeps_its_m());
      });
      all.wait();
    }
    EXPECT_TRUE(no_goroutine_is_at_home());
  });
}

TEST_P(posix_owned_mutexes, T08_a_goroutine_that_ends_with_one_leaves_it_locked) {
  THRUM_SKIP_WHAT_IS_WRONG();
  run([] {
    leave_m0();
    mutex_of_kind guarded(PTHREAD_MUTEX_RECURSIVE);
    auto const ends_with_it = [&] {
      wait_group all;
      all.go([&] { guarded.lock(); });
      all.wait();
    };
    ends_with_it();
    EXPECT_TRUE(wait_until([] { return no_goroutine_is_at_home(); }));  // it has told that it is done before it ended
    wait_group all;
    all.go([&] {
      EXPECT_EQ(::pthread_mutex_trylock(guarded.get()), EBUSY);
      EXPECT_EQ(::pthread_mutex_unlock(guarded.get()), EPERM);
    });
    all.wait();
    // What is made in its place is another one.
    new (&guarded) mutex_of_kind(PTHREAD_MUTEX_RECURSIVE);
    guarded.lock();
    guarded.unlock();
  });
}

// The ids of goroutines begin at the same number in every run, so main has the same id. It is on the first thread,
// which outlives the run.
TEST_P(posix_owned_mutexes, T12_what_a_run_has_left_locked_is_its_threads_and_not_the_next_runs) {
  THRUM_SKIP_WHAT_IS_WRONG();
  mutex_of_kind guarded(PTHREAD_MUTEX_RECURSIVE);
  std::uint64_t first = 0;
  run([&] {
    ASSERT_EQ(rt::current_m()->id, 0);
    first = this_g().id;
    guarded.lock();
  });
  guarded.unlock();
  guarded.lock();
  run([&] {
    EXPECT_EQ(this_g().id, first);
    lock_os_thread();
    guarded.unlock();
    EXPECT_TRUE(this_g().keeps_its_m());
    EXPECT_EQ(this_g().lock_depth, 1);
    unlock_os_thread();
  });
  guarded.lock();
  guarded.unlock();

  run([&] { guarded.lock(); });
  run([&] {
    guarded.lock();  // once more: it is this thread's
    guarded.unlock();
    guarded.unlock();
    EXPECT_FALSE(this_g().keeps_its_m());
  });
}

TEST_P(posix_owned_mutexes, T08_a_condition_gives_it_to_others_meanwhile) {
  run([] {
    mutex_of_kind guarded(PTHREAD_MUTEX_RECURSIVE);
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    std::atomic<int> inside{0};
    int come = 0;
    constexpr int count = 6;
    wait_group all;
    for (int i = 0; i < count; ++i) {
      all.go([&] {
        guarded.lock();
        int const tid = rt::os::current_tid();
        ++come;
        EXPECT_EQ(::pthread_cond_broadcast(&changed), 0);
        while (come < count) EXPECT_EQ(::pthread_cond_wait(&changed, guarded.get()), 0);
        EXPECT_EQ(rt::os::current_tid(), tid);
        {
          alone const here(inside);
          thrum::yield();
        }
        guarded.unlock();
      });
    }
    all.wait();
    EXPECT_TRUE(no_goroutine_is_at_home());
  });
}

TEST_P(posix_owned_mutexes, goroutines_are_told_what_threads_are_told) {
  THRUM_SKIP_WHAT_IS_WRONG();
  for (int const kind : {PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK}) {
    answers_alike(procs(), [kind](caller& c) {
      mutex_of_kind guarded(kind);
      std::atomic<int> step{0};
      partner const owner([&] {
        guarded.lock();
        step = 1;
        c.until_it_waits();
        guarded.unlock();
      });
      EXPECT_TRUE(wait_until([&] { return step == 1; }));
      timespec const past = moment_from_now(CLOCK_REALTIME, -1'000'000);
      answers got{::pthread_mutex_trylock(guarded.get()), ::pthread_mutex_unlock(guarded.get()),
                  ::pthread_mutex_timedlock(guarded.get(), &past)};
      c.next();
      got.emplace_back(::pthread_mutex_lock(guarded.get()));
      got.emplace_back(::pthread_mutex_lock(guarded.get()));
      got.emplace_back(::pthread_mutex_trylock(guarded.get()));
      for (int i = 0; i < 4; ++i) got.emplace_back(::pthread_mutex_unlock(guarded.get()));
      return got;
    });
  }
}

}  // namespace
}  // namespace thrum::test
