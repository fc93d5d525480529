#include "core/p.h"
#include "os/thread.h"
#include "support/fatal.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using test::run_at;
using test::scaled;

class semaphores : public test::at_every_width {};

TEST_P(semaphores, SY_01_never_more_inside_than_there_are_permits) {
  constexpr int goroutines = 16;
  constexpr int permits = 3;
  std::int64_t const rounds = scaled(5000, 100);
  std::atomic<int> inside{0};
  std::atomic<int> too_many{0};
  run([&] {
    semaphore slots(permits);
    wait_group all;
    for (int i = 0; i < goroutines; ++i) {
      all.go([&, i] {
        for (std::int64_t n = 0; n < rounds; ++n) {
          int const wanted = i % permits + 1;
          slots.acquire(wanted);
          if ((inside += wanted) > permits) ++too_many;
          if (n % 32 == i) thrum::yield();
          inside -= wanted;
          slots.release(wanted);
        }
      });
    }
    all.wait();
    EXPECT_TRUE(slots.try_acquire(permits)) << "none is lost";
    EXPECT_FALSE(slots.try_acquire());
  });
  EXPECT_EQ(too_many.load(), 0);
}

TEST_P(semaphores, one_permit_orders_like_a_mutex) {
  std::int64_t const rounds = scaled(5000, 100);
  std::int64_t counter = 0;  // plain: TSan watches
  run([&] {
    semaphore guard(1);
    wait_group all;
    for (int i = 0; i < 8; ++i) {
      all.go([&, i] {
        for (std::int64_t n = 0; n < rounds; ++n) {
          guard.acquire();
          ++counter;
          if (n % 32 == i) thrum::yield();
          guard.release();
        }
      });
    }
    all.wait();
  });
  EXPECT_EQ(counter, 8 * rounds);
}

TEST_P(semaphores, acquire_and_release_pair_as_a_signal) {
  run([&] {
    semaphore there;
    semaphore back;
    std::int64_t value = 0;  // plain
    std::int64_t const rounds = scaled(5000, 100);
    wait_group all;
    all.go([&] {
      for (std::int64_t i = 0; i < rounds; ++i) {
        there.acquire();
        ++value;
        back.release();
      }
    });
    for (std::int64_t i = 0; i < rounds; ++i) {
      ASSERT_EQ(value, i);
      there.release();
      back.acquire();
    }
    all.wait();
  });
}

TEST_P(semaphores, a_big_request_at_the_head_is_not_overtaken_by_small_ones) {
  run([&] {
    semaphore slots(4);
    slots.acquire(3);
    std::vector<int> order;  // plain: one after the other
    wait_group all;
    all.go([&] {
      slots.acquire(4);
      order.push_back(4);
      slots.release(4);
    });
    ASSERT_TRUE(test::wait_until([&] { return test::goroutine_is_parked_on(&slots); }));
    EXPECT_FALSE(slots.try_acquire()) << "there is one, and a waiter that came first wants it";
    std::atomic<bool> small_came{false};
    all.go([&] {
      small_came = true;
      slots.acquire();
      order.push_back(1);
      slots.release();
    });
    ASSERT_TRUE(test::wait_until([&] { return small_came.load(); }));
    for (int i = 0; i < 50; ++i) thrum::yield();
    slots.release(2);
    for (int i = 0; i < 50; ++i) thrum::yield();
    EXPECT_TRUE(order.empty());
    slots.release(1);
    all.wait();
    EXPECT_EQ(order, (std::vector<int>{4, 1}));
  });
}

TEST_P(semaphores, one_release_serves_as_many_as_it_can) {
  run([&] {
    semaphore slots;
    std::atomic<int> came{0};
    std::atomic<int> served{0};
    wait_group all;
    for (int i = 0; i < 10; ++i) {
      all.go([&] {
        ++came;
        slots.acquire(2);
        ++served;
      });
    }
    ASSERT_TRUE(test::wait_until([&] { return came == 10; }));
    for (int i = 0; i < 50; ++i) thrum::yield();
    slots.release(13);
    ASSERT_TRUE(test::wait_until([&] { return served == 6; }));
    for (int i = 0; i < 50; ++i) thrum::yield();
    EXPECT_EQ(served.load(), 6);
    slots.release(7);
    all.wait();
    EXPECT_FALSE(slots.try_acquire());
  });
}

TEST_P(semaphores, T14_a_goroutine_that_waited_may_destroy_it_at_once) {
  run([&] {
    for (std::int64_t round = 0; round < scaled(20'000, 300); ++round) {
      auto done = std::make_unique<semaphore>();
      for (int i = 0; i < 2; ++i) {
        thrum::go([&signal = *done, round] {
          if (round % 4 == 0) thrum::yield();
          signal.release();
        });
      }
      done->acquire(2);
      done.reset();
    }
  });
}

THRUM_AT_EVERY_WIDTH(semaphores);

TEST(semaphore_order, waiters_are_served_in_order_of_coming) {
  test::in_run_order const undisturbed;
  run_at(1, [] {
    semaphore slots;
    std::vector<int> order;
    wait_group all;
    for (int i = 0; i < 10; ++i) {
      all.go([&, i] {
        slots.acquire();
        order.push_back(i);
      });
      thrum::yield();  // it waits now
    }
    for (int i = 0; i < 10; ++i) {
      slots.release();
      EXPECT_FALSE(slots.try_acquire()) << "the permit is the waiter's, not to be snatched";
      thrum::yield();
    }
    all.wait();
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  });
}

TEST(semaphore_outside, without_a_run_it_counts_and_says_why_it_cannot_wait) {
  semaphore slots(2);
  slots.acquire(2);
  EXPECT_FALSE(slots.try_acquire());
  EXPECT_THROW(slots.acquire(), std::logic_error);
  slots.release(5);
  EXPECT_TRUE(slots.try_acquire(5));
  EXPECT_TRUE(slots.try_acquire(0));
}

TEST(semaphore_outside, the_largest_count_is_reached_and_not_passed) {
  semaphore slots(semaphore::max());
  EXPECT_TRUE(slots.try_acquire(semaphore::max()));
  EXPECT_FALSE(slots.try_acquire());
  slots.release(semaphore::max());
  EXPECT_TRUE(slots.try_acquire());
}

// The first run ends between the release and the waiter's turn, so no goroutine has taken the permits.
TEST(semaphore_outside, T12_permits_that_a_goroutine_never_came_to_take_come_back) {
  test::in_run_order const undisturbed;
  for (bool const first_outside : {false, true}) {
    auto const slots = std::make_unique<semaphore>();
    run_at(1, [&] {
      test::leave_m0();
      for (int i = 0; i < 3; ++i) thrum::go([&] { slots->acquire(2); });
      for (int i = 0; i < 10; ++i) thrum::yield();
      slots->release(5);  // two of them are served, the third waits on
      EXPECT_FALSE(slots->try_acquire());
      thrum::go([] {
        while ((test::this_p().attention.load(rt::relaxed) & rt::attend::stopping) == 0) rt::os::yield_thread();
      });
    });
    if (first_outside) {
      EXPECT_TRUE(slots->try_acquire(3));
      slots->release(3);
    }
    run_at(2, [&] {
      wait_group all;
      for (int i = 0; i < 5; ++i) all.go([&] { slots->acquire(); });
      all.wait();
      EXPECT_FALSE(slots->try_acquire()) << "five were released";
    });
  }
}

class semaphore_misuse : public test::fatal_test {};

TEST_F(semaphore_misuse, SY_02_numbers_out_of_range_are_fatal) {
  EXPECT_FATAL(semaphore(-1), "semaphore: the number of permits must not be negative, but it is -1");
  EXPECT_FATAL(semaphore(1).acquire(-2),
               "semaphore::acquire: the number of permits must not be negative, but it is -2");
  EXPECT_FATAL(static_cast<void>(semaphore(1).try_acquire(-2)),
               "semaphore::acquire: the number of permits must not be negative");
  EXPECT_FATAL(semaphore(1).release(-3),
               "semaphore::release: the number of permits must not be negative, but it is -3");
  EXPECT_FATAL(semaphore(1).release(std::numeric_limits<std::int64_t>::max()),
               "a semaphore can have at most 140737488355327");
  EXPECT_FATAL(semaphore(1).release(semaphore::max()), "a semaphore can have at most 140737488355327");
}

}  // namespace
}  // namespace thrum
