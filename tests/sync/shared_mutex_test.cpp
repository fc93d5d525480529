#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include "sync/locks.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using test::run_at;
using test::scaled;

// sync/shared_mutex.cpp says by which addresses the waiters are found in the wait table.
bool a_writer_waits(shared_mutex const& m) {
  return test::goroutine_is_parked_on(reinterpret_cast<char const*>(&m) + 3);
}
bool a_reader_waits(shared_mutex const& m) {
  return test::goroutine_is_parked_on(reinterpret_cast<char const*>(&m) + 2);
}

class shared_mutexes : public test::at_every_width {};

TEST_P(shared_mutexes, SY_01_readers_share_and_a_writer_is_alone) {
  constexpr int goroutines = 16;
  std::int64_t const rounds = scaled(10'000, 100);
  std::int64_t written = 0;  // plain: the lock orders it, and TSan watches
  std::int64_t also_written = 0;
  std::atomic<int> torn{0};
  std::int64_t writes = 0;
  run([&] {
    shared_mutex guard;
    wait_group all;
    for (int i = 0; i < goroutines; ++i) {
      all.go([&, i] {
        for (std::int64_t n = 0; n < rounds; ++n) {
          if ((n + i) % 8 == 0) {
            std::unique_lock const writing(guard);
            ++written;
            if (n % 64 == i) thrum::yield();
            ++also_written;
            ++writes;
          } else {
            std::shared_lock const reading(guard);
            if (written != also_written) ++torn;
            if (n % 64 == i) thrum::yield();
            if (written != also_written) ++torn;
          }
        }
      });
    }
    all.wait();
    EXPECT_TRUE(guard.try_lock()) << "the lock is free";
    guard.unlock();
  });
  EXPECT_EQ(torn.load(), 0);
  EXPECT_EQ(written, writes);
  EXPECT_EQ(writes, goroutines * rounds / 8);
}

TEST_P(shared_mutexes, readers_are_inside_together) {
  run([&] {
    shared_mutex guard;
    latch all_inside(8);
    wait_group all;
    for (int i = 0; i < 8; ++i) {
      all.go([&] {
        std::shared_lock const reading(guard);
        all_inside.arrive_and_wait();  // hangs if one keeps another out
      });
    }
    all.wait();
  });
}

TEST_P(shared_mutexes, try_forms_fail_while_the_lock_is_held_and_work_otherwise) {
  run([&] {
    shared_mutex guard;
    ASSERT_TRUE(guard.try_lock_shared());
    EXPECT_TRUE(guard.try_lock_shared()) << "a second reader";
    EXPECT_FALSE(guard.try_lock());
    guard.unlock_shared();
    EXPECT_FALSE(guard.try_lock());
    guard.unlock_shared();
    ASSERT_TRUE(guard.try_lock());
    EXPECT_FALSE(guard.try_lock());
    EXPECT_FALSE(guard.try_lock_shared());
    guard.unlock();
    EXPECT_TRUE(guard.try_lock_shared());
    guard.unlock_shared();
  });
}

TEST_P(shared_mutexes, SY_07_a_waiting_writer_keeps_new_readers_out_and_gets_in_when_the_present_ones_leave) {
  run([&] {
    shared_mutex guard;
    std::vector<std::string> order;  // not atomic: it is written under the lock or by one goroutine alone
    guard.lock_shared();
    guard.lock_shared();
    wait_group all;
    all.go([&] {
      guard.lock();
      order.emplace_back("writer");
      guard.unlock();
    });
    ASSERT_TRUE(test::wait_until([&] { return a_writer_waits(guard); }));
    EXPECT_FALSE(guard.try_lock_shared());
    all.go([&] {
      guard.lock_shared();
      order.emplace_back("reader");
      guard.unlock_shared();
    });
    ASSERT_TRUE(test::wait_until([&] { return a_reader_waits(guard); }));
    guard.unlock_shared();
    for (int i = 0; i < 20; ++i) thrum::yield();
    EXPECT_TRUE(a_writer_waits(guard)) << "one reader is still inside";
    guard.unlock_shared();
    all.wait();
    EXPECT_EQ(order, (std::vector<std::string>{"writer", "reader"}));
  });
}

// The readers that wait when a writer leaves go in before the next writer, all of them together.
TEST_P(shared_mutexes, when_a_writer_leaves_all_readers_that_wait_go_before_the_next_writer) {
  run([&] {
    constexpr int readers = 5;
    shared_mutex guard;
    std::atomic<bool> second_was_in{false};
    std::atomic<int> overtaken{0};
    latch all_inside(readers);
    wait_group all;
    guard.lock();
    all.go([&] {
      guard.lock();
      second_was_in = true;
      guard.unlock();
    });
    ASSERT_TRUE(test::wait_until([&] { return a_writer_waits(guard); }));
    for (int i = 0; i < readers; ++i) {
      all.go([&] {
        std::shared_lock const reading(guard);
        if (second_was_in) ++overtaken;
        all_inside.arrive_and_wait();
      });
    }
    ASSERT_TRUE(test::wait_until([&] { return test::waiting_for(rt::wait_reason::read_lock) == readers; }));
    guard.unlock();
    all.wait();
    EXPECT_EQ(overtaken.load(), 0);
    EXPECT_TRUE(second_was_in.load());
  });
}

TEST_P(shared_mutexes, std_lock_takes_it_together_with_a_mutex) {
  std::int64_t counter = 0;
  std::int64_t const rounds = scaled(300, 20);
  run([&] {
    shared_mutex first;
    mutex second;
    wait_group all;
    for (int i = 0; i < 8; ++i) {
      all.go([&, i] {
        for (std::int64_t n = 0; n < rounds; ++n) {
          if (i % 2 == 0) {
            std::scoped_lock const both(first, second);
            ++counter;
            if (n % 16 == i) thrum::yield();
          } else {
            std::shared_lock reading(first, std::defer_lock);
            std::unique_lock writing(second, std::defer_lock);
            std::lock(writing, reading);
            ++counter;
          }
        }
      });
    }
    all.wait();
  });
  EXPECT_EQ(counter, 8 * rounds);
}

TEST_P(shared_mutexes, T14_the_goroutine_that_leaves_last_may_destroy_it_at_once) {
  struct shared {
    shared_mutex guard;
    std::atomic<int> references{4};
  };
  run([&] {
    for (std::int64_t round = 0; round < scaled(20'000, 300); ++round) {
      auto* const object = new shared;
      auto const drop = [object, round](bool writes) {
        bool last = false;
        if (writes) {
          object->guard.lock();
          if (round % 4 == 0) thrum::yield();
          last = --object->references == 0;
          object->guard.unlock();
        } else {
          object->guard.lock_shared();
          if (round % 4 == 1) thrum::yield();
          object->guard.unlock_shared();
          object->guard.lock();
          last = --object->references == 0;
          object->guard.unlock();
        }
        if (last) delete object;
      };
      wait_group all;
      all.go([&] { drop(false); });
      all.go([&] { drop(true); });
      all.go([&] { drop(false); });
      drop(true);
      all.wait();
    }
  });
}

THRUM_AT_EVERY_WIDTH(shared_mutexes);

TEST(shared_mutex_order, writers_get_it_in_order_of_coming) {
  test::expect_waiters_in_order<shared_mutex>(&shared_mutex::lock_shared, &shared_mutex::unlock_shared);
}

TEST(shared_mutex_outside, without_a_run_an_uncontended_one_works_and_a_contended_one_says_why_not) {
  shared_mutex guard;
  guard.lock();
  EXPECT_THROW(guard.lock(), std::logic_error);
  EXPECT_THROW(guard.lock_shared(), std::logic_error);
  EXPECT_FALSE(guard.try_lock_shared());
  guard.unlock();
  guard.lock_shared();
  EXPECT_THROW(guard.lock(), std::logic_error);
  EXPECT_TRUE(guard.try_lock_shared());
  guard.unlock_shared();
  guard.unlock_shared();
  EXPECT_TRUE(guard.try_lock()) << "a thread that could not wait has left nothing behind";
  guard.unlock();
}

// --- T12: a run ends while others wait for it ---

void expect_like_new(shared_mutex& guard) {
  run_at(2, [&] {
    int counter = 0;
    wait_group all;
    for (int i = 0; i < 10; ++i) {
      all.go([&] {
        std::shared_lock const reading(guard);
        thrum::yield();
      });
      all.go([&] {
        std::unique_lock const writing(guard);
        ++counter;
        thrum::yield();
      });
    }
    all.wait();
    EXPECT_EQ(counter, 10);
  });
  EXPECT_TRUE(guard.try_lock());
  guard.unlock();
}

TEST(shared_mutex_outside, T12_readers_that_were_let_in_and_never_came_are_not_inside) {
  test::in_run_order const undisturbed;
  for (bool const first_outside : {false, true}) {
    auto const guard = std::make_unique<shared_mutex>();
    run_at(1, [&] {
      test::leave_m0();
      guard->lock();
      for (int i = 0; i < 3; ++i) thrum::go([&] { guard->lock_shared(); });
      for (int i = 0; i < 10; ++i) thrum::yield();
      guard->unlock();
      EXPECT_FALSE(guard->try_lock()) << "they are inside, awake or not";
      test::end_the_run_here();
    });
    if (first_outside) {
      guard->lock();
      guard->unlock();
    }
    expect_like_new(*guard);
  }
}

TEST(shared_mutex_outside, T12_a_writer_that_was_let_in_and_never_came_is_not_inside) {
  test::in_run_order const undisturbed;
  for (bool const first_outside : {false, true}) {
    auto const guard = std::make_unique<shared_mutex>();
    run_at(1, [&] {
      test::leave_m0();
      guard->lock_shared();
      for (int i = 0; i < 2; ++i) thrum::go([&] { guard->lock(); });
      for (int i = 0; i < 10; ++i) thrum::yield();
      guard->unlock_shared();
      EXPECT_FALSE(guard->try_lock_shared());
      test::end_the_run_here();
    });
    if (first_outside) {
      guard->lock_shared();
      guard->unlock_shared();
    }
    expect_like_new(*guard);
  }
}

TEST(shared_mutex_outside, T12_one_held_around_a_run_that_waited_for_it_works_in_the_next) {
  test::in_run_order const undisturbed;
  for (bool const writes : {false, true}) {
    auto const guard = std::make_unique<shared_mutex>();
    if (writes) {
      guard->lock();
    } else {
      guard->lock_shared();
    }
    run_at(1, [&] {
      thrum::go([&] { guard->lock(); });
      thrum::yield();
      thrum::go([&] { guard->lock_shared(); });
      thrum::yield();
      EXPECT_TRUE(a_writer_waits(*guard));
      EXPECT_TRUE(a_reader_waits(*guard));
    });
    if (writes) {
      guard->unlock();
    } else {
      guard->unlock_shared();
    }
    expect_like_new(*guard);
  }
}

}  // namespace
}  // namespace thrum
