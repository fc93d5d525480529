// The standard library's locks and threads, as users have them.
#include "posix_locks/locks.h"

#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

class posix_standard_locks : public at_every_width {};
THRUM_AT_WIDTHS(posix_standard_locks, 1, 2, 8);

TEST_P(posix_standard_locks, T08_condition_variables) {
  run([] {
    std::mutex guarded;
    std::condition_variable changed;
    std::condition_variable_any changed_for_any;
    int turn = 0;
    constexpr int count = 40;
    wait_group all;
    for (int i = 0; i < count; ++i) {
      all.go([&, i] {
        std::unique_lock held(guarded);
        if (i % 2 == 0) {
          changed.wait(held, [&] { return turn == i; });
        } else {
          changed_for_any.wait(held, [&] { return turn == i; });
        }
        ++turn;
        changed.notify_all();
        changed_for_any.notify_all();
      });
    }
    all.wait();
    EXPECT_EQ(turn, count);
    std::unique_lock held(guarded);
    EXPECT_EQ(changed.wait_for(held, 1ms), std::cv_status::timeout);
    EXPECT_EQ(changed.wait_until(held, std::chrono::system_clock::now() + 1ms), std::cv_status::timeout);
    EXPECT_FALSE(changed_for_any.wait_for(held, 1ms, [] { return false; }));
  });
}

TEST_P(posix_standard_locks, T08_mutexes_with_limits_of_time) {
  run([] {
    std::timed_mutex guarded;
    std::recursive_timed_mutex recursive;
    guarded.lock();
    recursive.lock();
    std::atomic<bool> has_patience{false};
    wait_group all;
    all.go([&] {
      EXPECT_FALSE(guarded.try_lock());
      EXPECT_FALSE(guarded.try_lock_for(1ms));
      EXPECT_FALSE(recursive.try_lock());
      EXPECT_FALSE(recursive.try_lock_for(1ms));
      has_patience = true;
      EXPECT_TRUE(guarded.try_lock_for(1h));
      EXPECT_TRUE(recursive.try_lock_for(1h));
      EXPECT_TRUE(recursive.try_lock());
      recursive.unlock();
      recursive.unlock();
      guarded.unlock();
    });
    ASSERT_TRUE(wait_until([&] { return has_patience.load(); }));
    ASSERT_TRUE(until_waiting(rt::wait_reason::mutex, 1));
    guarded.unlock();
    recursive.unlock();
    all.wait();
    EXPECT_TRUE(no_goroutine_is_at_home());
  });
}

// The threads end only when goroutines of the same thread have gone on.
TEST_P(posix_standard_locks, T08_a_join_parks) {
  run([] {
    constexpr int count = 10;
    std::atomic<bool> may_end{false};
    std::atomic<int> ended{0};
    wait_group all;
    for (int i = 0; i < count; ++i) {
      all.go([&] {
        int const tid = rt::os::current_tid();
        std::thread other([&] {
          EXPECT_TRUE(spin_until([&] { return may_end.load(); }));
          ++ended;
        });
        other.join();
        EXPECT_EQ(rt::os::current_tid(), tid);
      });
    }
    ASSERT_TRUE(until_waiting(rt::wait_reason::join, count));
    may_end = true;
    all.wait();
    EXPECT_EQ(ended, count);
  });
}

TEST_P(posix_standard_locks, T08_joins_answer_as_for_threads) {
  answers_alike(procs(), [](caller&) {
    std::atomic<bool> may_end{false};
    auto const waits = [](void* it) -> void* {
      EXPECT_TRUE(spin_until([&] { return static_cast<std::atomic<bool>*>(it)->load(); }));
      return it;
    };
    pthread_t thread{};
    EXPECT_EQ(::pthread_create(&thread, nullptr, waits, &may_end), 0);
    timespec const soon = moment_from_now(CLOCK_REALTIME, 1'000'000);
    timespec const soon_too = moment_from_now(CLOCK_MONOTONIC, 1'000'000);
    void* result = nullptr;
    answers got{::pthread_timedjoin_np(thread, &result, &soon),
                ::pthread_clockjoin_np(thread, &result, CLOCK_MONOTONIC, &soon_too)};
    if (!rt::with_tsan) got.emplace_back(::pthread_join(::pthread_self(), nullptr));  // there it ends the program
    may_end = true;
    got.emplace_back(::pthread_join(thread, &result));
    EXPECT_EQ(result, &may_end);
    return got;
  });
}

TEST_P(posix_standard_locks, T08_async) {
  run([] {
    std::mutex guarded;
    guarded.lock();
    wait_group all;
    std::atomic<int> sum{0};
    for (int i = 1; i <= 10; ++i) {
      all.go([&, i] {
        auto other = std::async(std::launch::async, [&, i] {
          std::lock_guard const held(guarded);
          return i;
        });
        sum += other.get();
      });
    }
    ASSERT_TRUE(until_waiting(rt::wait_reason::join, 10));
    guarded.unlock();
    all.wait();
    EXPECT_EQ(sum, 55);
  });
}

}  // namespace
}  // namespace thrum::test
