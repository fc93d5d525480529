// semaphore, condition_variable and wait_group with a time limit.
#include "base/random.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::scaled;

class timed : public test::at_every_width {};

TEST_P(timed, a_semaphore_is_given_up_in_time_and_not_before) {
  run([] {
    semaphore slots(1);
    EXPECT_TRUE(slots.try_acquire_for(0s));
    auto const before = clock::now();
    EXPECT_FALSE(slots.try_acquire_for(1ms));
    EXPECT_FALSE(slots.try_acquire_until(clock::now() + 1ms, 2));
    EXPECT_GE(clock::now() - before, 2ms);
    EXPECT_FALSE(slots.try_acquire_for(-1s));
    slots.release();
    EXPECT_TRUE(slots.try_acquire());
    wait_group all;
    all.go([&] { EXPECT_TRUE(slots.try_acquire_for(1h, 3)); });
    ASSERT_TRUE(test::wait_until([&] { return test::goroutine_is_parked_on(&slots); }));
    slots.release(3);
    all.wait();
    EXPECT_FALSE(slots.try_acquire());
  });
}

TEST_P(timed, a_big_request_that_gives_up_lets_those_behind_it_go) {
  run([] {
    semaphore slots(2);
    std::atomic<bool> gave_up{false};
    std::atomic<int> served{0};
    wait_group all;
    all.go([&] {
      EXPECT_FALSE(slots.try_acquire_for(50ms, 3));
      gave_up = true;
    });
    ASSERT_TRUE(test::wait_until([&] { return test::goroutine_is_parked_on(&slots) || gave_up; }));
    for (int i = 0; i < 2; ++i) {
      all.go([&] {
        slots.acquire();
        ++served;
      });
    }
    all.wait();
    EXPECT_TRUE(gave_up);
    EXPECT_EQ(served.load(), 2);
    EXPECT_FALSE(slots.try_acquire());
  });
}

TEST_P(timed, SY_01_no_permit_is_lost_to_a_waiter_that_gives_up) {
  constexpr int permits = 3;
  std::int64_t const rounds = scaled(1500, 50);
  std::atomic<int> inside{0};
  std::atomic<int> too_many{0};
  run([&] {
    semaphore slots(permits);
    wait_group all;
    for (int i = 0; i < 12; ++i) {
      all.go([&, random = rt::random_source(static_cast<std::uint64_t>(i) + 1)]() mutable {
        for (std::int64_t n = 0; n < rounds; ++n) {
          int const wanted = static_cast<int>(random.below(permits)) + 1;
          if (random.below(3) == 0) {
            slots.acquire(wanted);
          } else if (!slots.try_acquire_for(std::chrono::microseconds(random.below(60)), wanted)) {
            continue;
          }
          if ((inside += wanted) > permits) ++too_many;
          for (std::uint32_t yields = random.below(4); yields > 0; --yields) thrum::yield();
          inside -= wanted;
          slots.release(wanted);
        }
      });
    }
    all.wait();
    EXPECT_TRUE(slots.try_acquire(permits));
    EXPECT_FALSE(slots.try_acquire());
  });
  EXPECT_EQ(too_many.load(), 0);
}

TEST_P(timed, a_condition_variable_says_whether_it_was_notified_or_the_time_was_over) {
  run([] {
    mutex guard;
    condition_variable changed;
    std::unique_lock lock(guard);
    auto const before = clock::now();
    EXPECT_EQ(changed.wait_for(lock, 1ms), std::cv_status::timeout);
    EXPECT_EQ(changed.wait_until(lock, clock::now() + 1ms), std::cv_status::timeout);
    EXPECT_GE(clock::now() - before, 2ms);
    EXPECT_EQ(changed.wait_until(lock, std::chrono::system_clock::now() + 1ms), std::cv_status::timeout);
    EXPECT_EQ(changed.wait_for(lock, -1s), std::cv_status::timeout);
    EXPECT_TRUE(lock.owns_lock());
    EXPECT_FALSE(guard.try_lock()) << "it has the mutex again";
    EXPECT_FALSE(changed.wait_for(lock, 1ms, [] { return false; }));
    EXPECT_TRUE(changed.wait_for(lock, 0ms, [] { return true; }));
    EXPECT_FALSE(test::goroutine_is_parked_on(&changed));

    bool notified = false;
    wait_group all;
    all.go([&] {
      std::lock_guard const held(guard);
      notified = true;
      changed.notify_one();
    });
    EXPECT_TRUE(changed.wait_until(lock, clock::now() + 1h, [&] { return notified; }));
    all.go([&] {
      std::lock_guard const held(guard);
      changed.notify_all();
    });
    EXPECT_EQ(changed.wait_for(lock, 1h), std::cv_status::no_timeout);
    lock.unlock();
    all.wait();
  });
}

// A notification that finds a waiter which gives up at that moment goes to the next waiter. Only the last waiter in the
// queue consumes. Every other waiter that is notified passes the notification on, so a lost notification leaves the
// consumer asleep although the queue of items is not empty.
TEST_P(timed, SY_08_no_signal_is_lost_to_a_waiter_that_gives_up) {
  constexpr int bystanders = 7;
  std::int64_t const items = scaled(3000, 100);
  run([&] {
    mutex guard;
    condition_variable not_empty;
    std::deque<std::int64_t> queue;  // under guard
    std::int64_t sum = 0;
    bool over = false;
    wait_group all;
    all.go([&] {
      std::unique_lock lock(guard);
      for (;;) {
        not_empty.wait(lock, [&] { return !queue.empty() || over; });
        if (queue.empty()) return;
        sum += queue.front();
        queue.pop_front();
      }
    });
    for (int i = 0; i < bystanders; ++i) {
      all.go([&, random = rt::random_source(static_cast<std::uint64_t>(i) + 1)]() mutable {
        std::unique_lock lock(guard);
        while (!over) {
          auto const limit = std::chrono::microseconds(random.below(60));
          if (not_empty.wait_for(lock, limit) == std::cv_status::no_timeout) not_empty.notify_one();
        }
      });
    }
    for (std::int64_t i = 1; i <= items; ++i) {
      {
        std::lock_guard const held(guard);
        queue.push_back(i);
      }
      not_empty.notify_one();
      ASSERT_TRUE(test::wait_until([&] {
        std::lock_guard const held(guard);
        return queue.empty();
      })) << "item "
          << i;
    }
    {
      std::lock_guard const held(guard);
      over = true;
    }
    not_empty.notify_all();
    all.wait();
    EXPECT_EQ(sum, items * (items + 1) / 2);
  });
}

TEST_P(timed, a_wait_group_says_whether_the_count_came_to_zero_in_time) {
  run([] {
    wait_group group;
    EXPECT_TRUE(group.wait_for(0s)) << "it is zero";
    group.add(1);
    auto const before = clock::now();
    EXPECT_FALSE(group.wait_for(1ms));
    EXPECT_FALSE(group.wait_until(clock::now() + 1ms));
    EXPECT_GE(clock::now() - before, 2ms);
    EXPECT_FALSE(group.wait_for(-1s));
    wait_group others;
    std::atomic<int> in_time{0};
    std::atomic<int> given_up{0};
    for (int i = 0; i < 10; ++i) {
      others.go([&, i] {
        bool const is_zero = group.wait_for(i % 2 == 0 ? clock::duration(1ms) : clock::duration(1h));
        ++(is_zero ? in_time : given_up);
      });
    }
    ASSERT_TRUE(test::wait_until([&] { return given_up == 5 && test::waiting_for(rt::wait_reason::wait_group) == 5; }));
    group.done();
    others.wait();
    EXPECT_EQ(in_time.load(), 5);
    EXPECT_TRUE(group.wait_for(1h));
  });
}

TEST_P(timed, T14_a_wait_group_may_be_destroyed_by_a_waiter_that_was_in_time) {
  run([] {
    rt::random_source random(14);
    for (std::int64_t round = 0; round < scaled(3000, 100); ++round) {
      auto group = std::make_unique<wait_group>();
      group->add(1);
      thrum::go([&its = *group, pauses = random.below(100)] {
        for (std::uint32_t i = 0; i < pauses; ++i) rt::cpu_relax();
        its.done();
      });
      while (!group->wait_for(std::chrono::microseconds(random.below(20)))) {
      }
      group.reset();
    }
  });
}

THRUM_AT_EVERY_WIDTH(timed);

}  // namespace
}  // namespace thrum
