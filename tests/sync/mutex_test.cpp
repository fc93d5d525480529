#include "base/atomic.h"
#include "os/clock.h"
#include "support/fatal.h"
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
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using test::run_at;
using test::scaled;

class mutexes : public test::at_every_width {};

TEST_P(mutexes, SY_01_never_two_inside_and_nothing_lost) {
  constexpr int goroutines = 16;
  std::int64_t const rounds = scaled(10'000, 100);
  std::int64_t counter = 0;  // plain: the mutex orders it, and TSan watches
  int inside = 0;
  int met = 0;
  run([&] {
    mutex guard;
    wait_group all;
    for (int i = 0; i < goroutines; ++i) {
      all.go([&, i] {
        for (std::int64_t n = 0; n < rounds; ++n) {
          guard.lock();
          if (++inside != 1) ++met;
          ++counter;
          if (n % 32 == i) thrum::yield();  // others run into it
          --inside;
          guard.unlock();
        }
      });
    }
    all.wait();
  });
  EXPECT_EQ(counter, goroutines * rounds);
  EXPECT_EQ(met, 0);
}

TEST_P(mutexes, SY_01_try_lock_fails_while_it_is_held_and_works_when_it_is_free) {
  run([&] {
    mutex guard;
    ASSERT_TRUE(guard.try_lock());
    EXPECT_FALSE(guard.try_lock());
    EXPECT_FALSE(spawn([&] { return guard.try_lock(); }).join()) << "nor for another goroutine";
    guard.unlock();
    ASSERT_TRUE(guard.try_lock());
    guard.unlock();
  });
}

// Go's TestMutex: each of ten goroutines locks now and tries then.
TEST_P(mutexes, SY_01_lock_and_try_lock_may_be_mixed) {
  std::int64_t const rounds = scaled(1000, 50);
  std::int64_t counter = 0;
  std::atomic<std::int64_t> taken{0};
  run([&] {
    mutex guard;
    wait_group all;
    for (int i = 0; i < 10; ++i) {
      all.go([&, i] {
        for (std::int64_t n = 0; n < rounds; ++n) {
          if ((i + n) % 2 == 0) {
            guard.lock();
          } else if (!guard.try_lock()) {
            thrum::yield();
            continue;
          }
          ++counter;
          ++taken;
          guard.unlock();
        }
      });
    }
    all.wait();
  });
  EXPECT_EQ(counter, taken.load());
  EXPECT_GE(counter, 5 * rounds);
}

TEST_P(mutexes, std_lock_takes_two_of_them_in_any_order) {
  std::int64_t counter = 0;
  std::int64_t const rounds = scaled(300, 20);
  run([&] {
    mutex first;
    mutex second;
    wait_group all;
    for (int i = 0; i < 8; ++i) {
      all.go([&, i] {
        for (std::int64_t n = 0; n < rounds; ++n) {
          std::scoped_lock const both(i % 2 == 0 ? first : second, i % 2 == 0 ? second : first);
          ++counter;
          if (n % 16 == i) thrum::yield();
        }
      });
    }
    all.wait();
  });
  EXPECT_EQ(counter, 8 * rounds);
}

TEST_P(mutexes, a_waiter_parks_and_leaves_its_p_to_others) {
  run([&] {
    mutex guard;
    guard.lock();
    std::atomic<int> waiting{0};
    std::atomic<int> got{0};
    wait_group all;
    for (int i = 0; i < 100; ++i) {  // more than there are Ps
      all.go([&] {
        ++waiting;
        guard.lock();
        ++got;
        guard.unlock();
      });
    }
    EXPECT_TRUE(test::wait_until([&] { return waiting == 100; }));
    EXPECT_EQ(got.load(), 0);
    guard.unlock();
    all.wait();
    EXPECT_EQ(got.load(), 100);
  });
}

// A hog that takes the mutex again the moment it has let it go, and always holds it when it gives way: without the fair
// mode a waiter at P=1 would come too late every time.
TEST_P(mutexes, a_waiter_beside_a_hog_gets_its_turn) {
  run([&] {
    mutex guard;
    std::atomic<bool> over{false};
    std::atomic<std::int64_t> taken{0};
    wait_group all;
    all.go([&] {
      while (!over) {
        guard.lock();
        ++taken;
        thrum::yield();
        guard.unlock();
      }
    });
    for (int turn = 0; turn < 5; ++turn) {
      std::int64_t const before = taken;
      EXPECT_TRUE(test::wait_until([&] { return taken > before; }));
      guard.lock();  // hangs, and the watchdog reports it, if long waiters get no preference
      guard.unlock();
    }
    over = true;
    all.wait();
  });
}

TEST_P(mutexes, T14_the_goroutine_that_takes_it_last_may_destroy_it_at_once) {
  struct shared {
    mutex guard;
    int references = 3;
  };
  run([&] {
    std::int64_t const rounds = scaled(30'000, 300);
    for (std::int64_t round = 0; round < rounds; ++round) {
      auto* const object = new shared;
      auto const drop = [object, round] {
        object->guard.lock();
        if (round % 4 == 0) thrum::yield();
        bool const last = --object->references == 0;
        object->guard.unlock();
        if (last) delete object;
      };
      wait_group all;
      all.go(drop);
      all.go(drop);
      drop();
      all.wait();
    }
  });
}

TEST_P(mutexes, T14_in_the_fair_mode_too) {
  struct shared {
    mutex guard;
    int references = 4;
  };
  run([&] {
    for (std::int64_t round = 0; round < scaled(20, 3); ++round) {
      auto* const object = new shared;
      auto const drop = [object] {
        object->guard.lock();
        std::int64_t const until_ns = rt::os::monotonic_ns() + 1'500'000;  // long enough to starve the others
        while (rt::os::monotonic_ns() < until_ns) thrum::yield();
        bool const last = --object->references == 0;
        object->guard.unlock();
        if (last) delete object;
      };
      wait_group all;
      for (int i = 0; i < 3; ++i) all.go(drop);
      drop();
      all.wait();
    }
  });
}

THRUM_AT_EVERY_WIDTH(mutexes);

TEST(mutex_order, waiters_get_it_in_order_of_coming) {
  test::expect_waiters_in_order<mutex>(&mutex::lock, &mutex::unlock);
}

TEST(mutex_outside, without_a_run_an_uncontended_one_works_and_a_contended_one_says_why_not) {
  mutex guard;
  guard.lock();
  EXPECT_FALSE(guard.try_lock());
  try {
    guard.lock();
    FAIL() << "it is locked";
  } catch (std::logic_error const& e) {
    EXPECT_NE(std::string(e.what()).find("mutex::lock"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("no runtime is alive"), std::string::npos) << e.what();
  }
  guard.unlock();
  EXPECT_TRUE(guard.try_lock());
  guard.unlock();
}

// The first run ends between the unlock that woke a waiter and that waiter's turn. The mutex is free then, and must be
// usable like any other mutex in the next run.
TEST(mutex_outside, T12_one_that_was_fought_over_when_a_run_ended_works_in_the_next) {
  test::in_run_order const undisturbed;
  auto const guard = std::make_unique<mutex>();
  run_at(1, [&] {
    test::leave_m0();
    guard->lock();
    thrum::go([&] {
      guard->lock();
      guard->unlock();
    });
    thrum::yield();   // it waits
    guard->unlock();  // it is woken, and in runnext
    test::end_the_run_here();
  });
  run_at(1, [&] {
    guard->lock();
    wait_group all;
    bool got = false;
    all.go([&] {
      guard->lock();
      got = true;
      guard->unlock();
    });
    thrum::yield();
    EXPECT_FALSE(got);
    guard->unlock();
    all.wait();
    EXPECT_TRUE(got);
  });
}

// The caller holds the mutex. A goroutine waits for it for so long that it is preferred. On return the caller holds the
// mutex again, and its next unlock hands it over.
void let_a_goroutine_wait_until_it_is_preferred(mutex& guard) {
  thrum::go([&guard] { guard.lock(); });
  thrum::yield();  // it waits
  std::int64_t const until_ns = rt::os::monotonic_ns() + 1'500'000;
  while (rt::os::monotonic_ns() < until_ns) rt::cpu_relax();
  guard.unlock();                 // it is woken
  EXPECT_TRUE(guard.try_lock());  // and comes too late
  thrum::yield();                 // it waits again, before all others
}

// The first run ends between the unlock that hands the mutex over and the new owner's turn.
TEST(mutex_outside, T12_one_that_was_promised_to_a_goroutine_that_never_came_is_free) {
  test::in_run_order const undisturbed;
  for (bool const first_outside : {false, true}) {
    auto const guard = std::make_unique<mutex>();
    run_at(1, [&] {
      test::leave_m0();
      guard->lock();
      let_a_goroutine_wait_until_it_is_preferred(*guard);
      guard->unlock();  // it is handed over
      EXPECT_FALSE(guard->try_lock());
      test::end_the_run_here();
    });
    if (first_outside) {
      guard->lock();
      EXPECT_FALSE(guard->try_lock());
      guard->unlock();
    }
    run_at(2, [&] {
      int counter = 0;
      wait_group all;
      for (int i = 0; i < 10; ++i) {
        all.go([&] {
          std::lock_guard const held(*guard);
          ++counter;
          thrum::yield();
        });
      }
      all.wait();
      EXPECT_EQ(counter, 10);
    });
    EXPECT_TRUE(guard->try_lock());
    guard->unlock();
  }
}

// The caller of run holds the mutex during the whole run. A goroutine waits for it for so long that the mutex becomes
// fair. The waiter is gone with the run, and the caller can unlock the mutex and lock it as usual.
TEST(mutex_outside, T12_one_held_around_a_run_that_waited_for_it_is_free_when_it_is_unlocked) {
  test::in_run_order const undisturbed;
  auto const guard = std::make_unique<mutex>();
  auto const other = std::make_unique<mutex>();
  for (mutex* const each : {guard.get(), other.get()}) {
    each->lock();
    run_at(1, [&] {
      let_a_goroutine_wait_until_it_is_preferred(*each);
      EXPECT_FALSE(each->try_lock());
    });
    each->unlock();
    EXPECT_TRUE(each->try_lock()) << "no waiter is left that could be preferred";
    each->unlock();
  }
  std::scoped_lock const both(*guard, *other);
  EXPECT_FALSE(guard->try_lock());
}

class mutex_misuse : public test::fatal_test {};

TEST_F(mutex_misuse, SY_02_unlock_of_an_unlocked_one_is_fatal) {
  EXPECT_FATAL(run_at(1,
                      [] {
                        mutex guard;
                        guard.unlock();
                      }),
               "mutex::unlock: the mutex is not locked");
  EXPECT_FATAL(run_at(1,
                      [] {
                        mutex guard;
                        guard.lock();
                        guard.unlock();
                        try {
                          guard.unlock();
                        } catch (...) {  // cannot be caught
                        }
                      }),
               "mutex::unlock: the mutex is not locked");
  EXPECT_FATAL(
      {
        mutex guard;
        guard.unlock();
      },
      "mutex::unlock: the mutex is not locked");
}

}  // namespace
}  // namespace thrum
