#include "posix_locks/locks.h"

#include <cerrno>
#include <thread>
#include <vector>

namespace thrum::test {
namespace {

class posix_conditions : public at_every_width {};
THRUM_AT_WIDTHS(posix_conditions, 1, 2, 8);

// As one is written in C.
class bounded_queue {
 public:
  void put(std::int64_t value) {
    guarded_.lock();
    while (size_ == room) EXPECT_EQ(::pthread_cond_wait(&has_room_, guarded_.get()), 0);
    values_[(first_ + size_++) % room] = value;
    EXPECT_EQ(::pthread_cond_signal(&has_values_), 0);
    guarded_.unlock();
  }
  std::int64_t take() {
    guarded_.lock();
    while (size_ == 0) EXPECT_EQ(::pthread_cond_wait(&has_values_, guarded_.get()), 0);
    std::int64_t const value = values_[first_++ % room];
    --size_;
    guarded_.unlock();
    EXPECT_EQ(::pthread_cond_signal(&has_room_), 0);  // without the mutex, too
    return value;
  }

 private:
  static constexpr std::size_t room = 3;
  mutex_of_kind guarded_{PTHREAD_MUTEX_NORMAL};
  pthread_cond_t has_room_ = PTHREAD_COND_INITIALIZER;
  pthread_cond_t has_values_ = PTHREAD_COND_INITIALIZER;
  std::int64_t values_[room]{};
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

TEST_P(posix_conditions, T08_a_queue_between_goroutines_and_threads) {
  run([] {
    constexpr int goroutines = 6;
    constexpr int threads = 2;
    std::int64_t const each = scaled(1000, 50);
    bounded_queue queue;
    std::atomic<std::int64_t> sum{0};
    auto const puts = [&] {
      for (std::int64_t i = 1; i <= each; ++i) queue.put(i);
    };
    auto const takes = [&] {
      for (std::int64_t i = 1; i <= each; ++i) sum += queue.take();
    };
    std::vector<std::thread> plain;
    for (int i = 0; i < threads; ++i) {
      plain.emplace_back(puts);
      plain.emplace_back(takes);
    }
    wait_group all;
    for (int i = 0; i < goroutines; ++i) {
      all.go(puts);
      all.go(takes);
    }
    all.wait();
    for (std::thread& one : plain) one.join();
    EXPECT_EQ(sum, (goroutines + threads) * each * (each + 1) / 2);
    EXPECT_TRUE(no_goroutine_is_at_home());
  });
}

// Each signal takes one at least; so many signals take all.
TEST_P(posix_conditions, T08_as_many_signals_as_waiters_wake_all) {
  for (bool const from_a_thread : {false, true}) {
    run([&] {
      constexpr int count = 30;
      mutex_of_kind guarded(PTHREAD_MUTEX_NORMAL);
      pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
      std::atomic<int> woken{0};
      wait_group all;
      for (int i = 0; i < count; ++i) {
        all.go([&] {
          guarded.lock();
          EXPECT_EQ(::pthread_cond_wait(&changed, guarded.get()), 0);
          guarded.unlock();
          ++woken;
        });
      }
      ASSERT_TRUE(until_waiting(rt::wait_reason::condition_variable, count));
      auto const signal_all = [&] {
        for (int i = 0; i < count; ++i) EXPECT_EQ(::pthread_cond_signal(&changed), 0);
      };
      if (from_a_thread) {
        std::thread(signal_all).join();
      } else {
        signal_all();
      }
      all.wait();
      EXPECT_EQ(woken, count);
    });
  }
}

TEST_P(posix_conditions, T08_broadcast_wakes_goroutines_and_threads) {
  run([] {
    constexpr int goroutines = 20;
    constexpr int threads = 3;
    mutex_of_kind guarded(PTHREAD_MUTEX_NORMAL);
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    bool is_set = false;
    int waiting = 0;
    auto const waits = [&] {
      guarded.lock();
      ++waiting;
      while (!is_set) EXPECT_EQ(::pthread_cond_wait(&changed, guarded.get()), 0);
      guarded.unlock();
    };
    std::vector<std::thread> plain;
    for (int i = 0; i < threads; ++i) plain.emplace_back(waits);
    wait_group all;
    for (int i = 0; i < goroutines; ++i) all.go(waits);
    ASSERT_TRUE(wait_until([&] {
      guarded.lock();
      bool const all_wait = waiting == goroutines + threads;
      if (all_wait) is_set = true;
      guarded.unlock();
      return all_wait;
    }));
    EXPECT_EQ(::pthread_cond_broadcast(&changed), 0);
    EXPECT_EQ(::pthread_cond_destroy(&changed), 0);
    all.wait();
    for (std::thread& one : plain) one.join();
  });
}

TEST_P(posix_conditions, goroutines_are_told_what_threads_are_told) {
  for (clockid_t const clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
    answers_alike(procs(), [clock](caller& c) {
      mutex_of_kind guarded(PTHREAD_MUTEX_NORMAL);
      pthread_condattr_t attributes;
      ::pthread_condattr_init(&attributes);
      EXPECT_EQ(::pthread_condattr_setclock(&attributes, clock), 0);
      pthread_cond_t changed;
      EXPECT_EQ(::pthread_cond_init(&changed, &attributes), 0);
      ::pthread_condattr_destroy(&attributes);
      timespec const past = moment_from_now(clock, -1'000'000);
      timespec const soon = moment_from_now(clock, 1'000'000);
      timespec const soon_by_the_other = moment_from_now(CLOCK_MONOTONIC, 1'000'000);
      timespec const late = moment_from_now(clock, 3600'000'000'000);
      timespec wrong = late;
      wrong.tv_nsec = -1;
      bool is_set = false;
      partner const sets([&] {
        c.until_it_waits();
        guarded.lock();
        is_set = true;
        ::pthread_cond_signal(&changed);
        guarded.unlock();
      });
      guarded.lock();
      answers got{::pthread_cond_timedwait(&changed, guarded.get(), &past),
                  ::pthread_cond_timedwait(&changed, guarded.get(), &soon),
                  ::pthread_cond_timedwait(&changed, guarded.get(), &wrong),
                  ::pthread_cond_clockwait(&changed, guarded.get(), CLOCK_MONOTONIC, &soon_by_the_other),
                  ::pthread_cond_clockwait(&changed, guarded.get(), CLOCK_THREAD_CPUTIME_ID, &late),
                  ::pthread_mutex_trylock(guarded.get())};
      c.next();
      int answered = 0;
      while (!is_set && answered == 0) answered = ::pthread_cond_timedwait(&changed, guarded.get(), &late);
      got.emplace_back(answered);
      got.emplace_back(::pthread_mutex_trylock(guarded.get()));
      guarded.unlock();
      return got;
    });
  }
}

// Limits of time that end in the moment of the signal neither lose it nor take another's.
TEST_P(posix_conditions, T08_limits_of_time_lose_no_signal) {
  run([] {
    std::int64_t const rounds = scaled(400, 40);
    mutex_of_kind guarded(PTHREAD_MUTEX_NORMAL);
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    std::int64_t permits = 0;
    std::atomic<std::int64_t> taken{0};
    wait_group all;
    for (int i = 0; i < 8; ++i) {
      all.go([&, i] {
        for (std::int64_t n = 0; n < rounds;) {
          guarded.lock();
          while (permits == 0) {
            if (i % 2 == 0) {
              EXPECT_EQ(::pthread_cond_wait(&changed, guarded.get()), 0);
            } else {
              timespec const soon = moment_from_now(CLOCK_REALTIME, (n + i) % 50 * 1000);
              int const answer = ::pthread_cond_timedwait(&changed, guarded.get(), &soon);
              EXPECT_TRUE(answer == 0 || answer == ETIMEDOUT) << answer;
            }
          }
          --permits;
          guarded.unlock();
          ++taken;
          ++n;
        }
      });
    }
    for (std::int64_t n = 0; n < 8 * rounds; ++n) {
      guarded.lock();
      ++permits;
      guarded.unlock();
      ::pthread_cond_signal(&changed);
      if (n % 3 == 0) thrum::yield();
    }
    all.wait();
    EXPECT_EQ(taken, 8 * rounds);
  });
}

}  // namespace
}  // namespace thrum::test
