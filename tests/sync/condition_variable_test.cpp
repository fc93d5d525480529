#include "support/fatal.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using test::run_at;
using test::scaled;

class condition_variables : public test::at_every_width {};

// A bounded queue between producers and consumers: every wait and every notify is needed.
TEST_P(condition_variables, a_bounded_queue_neither_loses_nor_hangs) {
  constexpr int producers = 4;
  constexpr int consumers = 4;
  std::int64_t const each = scaled(5000, 100);
  std::int64_t sum = 0;  // plain, under the mutex
  run([&] {
    mutex guard;
    condition_variable not_full;
    condition_variable not_empty;
    std::deque<std::int64_t> queue;
    wait_group all;
    for (int p = 0; p < producers; ++p) {
      all.go([&] {
        for (std::int64_t i = 1; i <= each; ++i) {
          std::unique_lock lock(guard);
          not_full.wait(lock, [&] { return queue.size() < 3; });
          queue.push_back(i);
          lock.unlock();
          not_empty.notify_one();
        }
      });
    }
    for (int c = 0; c < consumers; ++c) {
      all.go([&] {
        for (std::int64_t i = 0; i < each; ++i) {
          std::unique_lock lock(guard);
          not_empty.wait(lock, [&] { return !queue.empty(); });
          sum += queue.front();
          queue.pop_front();
          not_full.notify_one();
        }
      });
    }
    all.wait();
  });
  EXPECT_EQ(sum, producers * each * (each + 1) / 2);
}

// Go's TestCondSignal: a goroutine is woken only by a signal, and each signal wakes one goroutine.
TEST_P(condition_variables, SY_08_each_signal_wakes_exactly_one) {
  run([&] {
    constexpr int waiters = 100;
    mutex guard;
    condition_variable signal;
    int waiting = 0;  // under guard
    int awake = 0;
    wait_group all;
    for (int i = 0; i < waiters; ++i) {
      all.go([&] {
        std::unique_lock lock(guard);
        ++waiting;
        signal.wait(lock);  // no predicate: a spurious wake-up would be counted
        EXPECT_TRUE(lock.owns_lock());
        ++awake;
      });
    }
    auto const count = [&](int& what) {
      std::lock_guard const held(guard);
      return what;
    };
    ASSERT_TRUE(test::wait_until([&] { return count(waiting) == waiters; }));
    for (int i = 0; i < waiters; ++i) {
      EXPECT_EQ(count(awake), i);
      signal.notify_one();
      ASSERT_TRUE(test::wait_until([&] { return count(awake) == i + 1; }));
    }
    signal.notify_one();  // no goroutine waits
    all.wait();
  });
}

TEST_P(condition_variables, SY_08_a_signal_without_waiters_is_lost) {
  run([&] {
    mutex guard;
    condition_variable signal;
    signal.notify_one();
    signal.notify_all();
    std::atomic<bool> waits{false};
    std::atomic<bool> woken{false};
    wait_group all;
    all.go([&] {
      std::unique_lock lock(guard);
      waits = true;
      signal.wait(lock);
      woken = true;
    });
    ASSERT_TRUE(test::wait_until([&] { return waits && test::goroutine_is_parked_on(&signal); }));
    for (int i = 0; i < 50; ++i) thrum::yield();
    EXPECT_FALSE(woken);
    guard.lock();  // it has let the mutex go
    guard.unlock();
    signal.notify_one();
    all.wait();
  });
}

TEST_P(condition_variables, notify_all_wakes_all_waiters) {
  run([&] {
    constexpr int waiters = 200;
    mutex guard;
    condition_variable changed;
    int waiting = 0;
    bool open = false;
    wait_group all;
    for (int i = 0; i < waiters; ++i) {
      all.go([&] {
        std::unique_lock lock(guard);
        ++waiting;
        changed.wait(lock, [&] { return open; });
      });
    }
    ASSERT_TRUE(test::wait_until([&] {
      std::lock_guard const held(guard);
      return waiting == waiters;
    }));
    {
      std::lock_guard const held(guard);
      open = true;
    }
    changed.notify_all();
    all.wait();
  });
}

// A notification may come while the waiter stands in the queue and has not parked yet.
TEST_P(condition_variables, a_notification_on_the_waiters_heels_is_not_lost) {
  run([&] {
    mutex guard;
    condition_variable turned;
    bool mine = true;  // whose turn it is
    std::int64_t const rounds = scaled(20'000, 300);
    wait_group all;
    all.go([&] {
      for (std::int64_t i = 0; i < rounds; ++i) {
        std::unique_lock lock(guard);
        turned.wait(lock, [&] { return !mine; });
        mine = true;
        turned.notify_one();
      }
    });
    for (std::int64_t i = 0; i < rounds; ++i) {
      std::unique_lock lock(guard);
      turned.wait(lock, [&] { return mine; });
      mine = false;
      lock.unlock();
      turned.notify_one();
    }
    all.wait();
  });
}

TEST_P(condition_variables, T14_a_goroutine_that_waited_may_destroy_it_at_once) {
  struct shared {
    mutex guard;
    condition_variable done;
    bool is_done = false;
  };
  run([&] {
    for (std::int64_t round = 0; round < scaled(20'000, 300); ++round) {
      auto const object = std::make_unique<shared>();
      thrum::go([&it = *object, round] {
        if (round % 4 == 0) thrum::yield();
        std::lock_guard const held(it.guard);
        it.is_done = true;
        if (round % 2 == 0) {
          it.done.notify_one();
        } else {
          it.done.notify_all();
        }
      });
      std::unique_lock lock(object->guard);
      object->done.wait(lock, [&] { return object->is_done; });
    }
  });
}

THRUM_AT_EVERY_WIDTH(condition_variables);

// Go's TestCondSignalGenerations: a later waiter cannot take an earlier one's signal.
TEST(condition_variable_order, SY_08_a_hundred_are_woken_in_order_of_coming) {
  test::in_run_order const undisturbed;
  run_at(1, [] {
    mutex guard;
    condition_variable signal;
    std::vector<int> order;
    wait_group all;
    for (int i = 0; i < 100; ++i) {
      all.go([&, i] {
        std::unique_lock lock(guard);
        signal.wait(lock);
        order.push_back(i);
      });
      thrum::yield();  // it waits now
      if (i % 3 == 2) {
        signal.notify_one();
        EXPECT_EQ(static_cast<int>(order.size()), i / 3) << "notify does not switch";
        thrum::yield();
        ASSERT_EQ(static_cast<int>(order.size()), i / 3 + 1);
      }
    }
    signal.notify_all();
    all.wait();
    ASSERT_EQ(order.size(), 100U);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  });
}

TEST(condition_variable_outside, only_a_goroutine_can_wait_and_any_thread_may_notify_without_waiters) {
  mutex guard;
  condition_variable signal;
  signal.notify_one();
  signal.notify_all();
  std::unique_lock lock(guard);
  EXPECT_THROW(signal.wait(lock), std::logic_error);
  EXPECT_TRUE(lock.owns_lock());
  EXPECT_FALSE(guard.try_lock()) << "it is still held";
}

TEST(condition_variable_outside, T12_waiters_of_an_earlier_run_take_no_signals) {
  auto const guard = std::make_unique<mutex>();
  auto const signal = std::make_unique<condition_variable>();
  run_at(1, [&] {
    for (int i = 0; i < 3; ++i) {
      thrum::go([&] {
        std::unique_lock lock(*guard);
        signal->wait(lock);
      });
      thrum::yield();
    }
  });
  signal->notify_one();  // outside of a run, with no goroutine left
  signal->notify_all();
  run_at(1, [&] {
    bool woken = false;
    wait_group all;
    all.go([&] {
      std::unique_lock lock(*guard);
      signal->wait(lock);
      woken = true;
    });
    EXPECT_TRUE(test::wait_until([] { return test::waiting_for(rt::wait_reason::condition_variable) == 1; }));
    EXPECT_FALSE(woken);
    signal->notify_one();
    all.wait();
    EXPECT_TRUE(woken);
  });
}

class condition_variable_misuse : public test::fatal_test {};

TEST_F(condition_variable_misuse, SY_02_waiting_without_the_mutex_is_fatal) {
  EXPECT_FATAL(run_at(1,
                      [] {
                        mutex guard;
                        condition_variable signal;
                        std::unique_lock lock(guard, std::defer_lock);
                        signal.wait(lock);
                      }),
               "condition_variable::wait: the caller does not hold the mutex; lock it before the call");
}

}  // namespace
}  // namespace thrum
