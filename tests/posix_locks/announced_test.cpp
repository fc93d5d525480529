// Mutexes with an owner (recursive and errorcheck) inside blocking(). The owner is the goroutine there, too, and not
// its thread.
#include "posix_locks/locks.h"
#include "support/slices.h"

#include <cerrno>
#include <chrono>
#include <mutex>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

class posix_announced_locks : public at_every_width {};
THRUM_AT_WIDTHS(posix_announced_locks, 1, 2, 8);

TEST_P(posix_announced_locks, T08_what_a_neighbour_has_is_not_had_inside_an_announced_call) {
  run([] {
    leave_m0();
    mutex_of_kind wanted(PTHREAD_MUTEX_RECURSIVE);
    chan<int> may_go(0);
    std::atomic<int> home{0};
    wait_group all;
    all.go([&] {
      wanted.lock();
      home = rt::os::current_tid();
      static_cast<void>(may_go.recv());
      wanted.unlock();
    });
    ASSERT_TRUE(wait_until([&] { return home != 0; }));
    call_on_thread(home, [&] {
      std::recursive_mutex keeps_it_here;
      std::lock_guard const held(keeps_it_here);
      blocking([&] {
        EXPECT_EQ(rt::os::current_tid(), home);
        EXPECT_EQ(::pthread_mutex_trylock(wanted.get()), EBUSY);
        EXPECT_EQ(::pthread_mutex_lock(wanted.get()), EAGAIN);  // its owner could not go on
        EXPECT_EQ(::pthread_mutex_unlock(wanted.get()), EPERM);
      });
    });
    may_go.send(1);
    all.wait();
    EXPECT_TRUE(no_goroutine_is_at_home());
  });
}

TEST_P(posix_announced_locks, T08_a_condition_waited_for_inside_gives_back_what_was_locked_outside) {
  run([] {
    leave_m0();
    mutex_of_kind guarded(PTHREAD_MUTEX_RECURSIVE);
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    bool is_changed = false;
    chan<int> may_go(0);
    std::atomic<int> home{0};
    wait_group all;
    all.go([&] {
      guarded.lock();
      home = rt::os::current_tid();
      blocking([&] {
        while (!is_changed) EXPECT_EQ(::pthread_cond_wait(&changed, guarded.get()), 0);
      });
      EXPECT_EQ(rt::os::current_tid(), home);
      home = -home;
      static_cast<void>(may_go.recv());
      EXPECT_EQ(::pthread_mutex_unlock(guarded.get()), 0);
    });
    ASSERT_TRUE(wait_until([&] { return home != 0; }));
    all.go([&] {
      guarded.lock();
      is_changed = true;
      EXPECT_EQ(::pthread_cond_signal(&changed), 0);
      guarded.unlock();
    });
    ASSERT_TRUE(wait_until([&] { return home < 0; }));
    call_on_thread(-home, [&] { EXPECT_EQ(::pthread_mutex_trylock(guarded.get()), EBUSY); });
    may_go.send(1);
    all.wait();
    EXPECT_TRUE(no_goroutine_is_at_home());
    ::pthread_cond_destroy(&changed);
  });
}

TEST_P(posix_announced_locks, T08_it_may_be_locked_inside_and_unlocked_outside_and_the_other_way_round) {
  with_slices_of const slices(1ms);  // ends the slice of a goroutine that tries in a loop
  run([] {
    mutex_of_kind guarded(PTHREAD_MUTEX_ERRORCHECK);
    std::atomic<int> inside{0};
    wait_group all;
    for (int i = 0; i < 4 * procs(); ++i) {
      all.go([&] {
        for (std::int64_t round = 0; round < scaled(100, 10); ++round) {
          blocking([&] {
            while (::pthread_mutex_trylock(guarded.get()) != 0) rt::os::yield_thread();
          });
          int const tid = rt::os::current_tid();
          {
            alone const here(inside);
            thrum::yield();
          }
          EXPECT_EQ(rt::os::current_tid(), tid);
          EXPECT_EQ(blocking([&] { return ::pthread_mutex_unlock(guarded.get()); }), 0);
          guarded.lock();
          blocking([&] { guarded.unlock(); });
        }
      });
    }
    all.wait();
    EXPECT_TRUE(no_goroutine_is_at_home());
  });
}

}  // namespace
}  // namespace thrum::test
