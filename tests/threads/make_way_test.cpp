// T08: a goroutine that is about to block or keep its thread first moves to another thread if this one is home to other
// goroutines. Otherwise the goroutines could wait for each other for ever, which threads would not do.
#include "support/gate.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "threads/home_calls.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

class make_way : public at_every_width {};
THRUM_AT_EVERY_WIDTH(make_way);

// On every thread that has a P, one goroutine waits at home, and opens a gate when it is told to. Another goroutine, on
// the same thread if there is only one, calls `blocks`, which returns when the gate is open.
template <class F>
void let_one_depend_on_the_other(F blocks) {
  struct pair {
    gate door;
    chan<int> news;
    std::atomic<int> home{0};
    std::atomic<int> blocked{0};
  };
  std::deque<pair> pairs(8);
  wait_group all;
  for (pair& its : pairs) {
    all.go([&] {
      its.home = call_at_home([&] {
        its.home = rt::os::current_tid();
        EXPECT_EQ(its.news.recv(), 1);
      });
      its.door.open();
    });
  }
  EXPECT_TRUE(wait_until([&] { return waiting_for(rt::wait_reason::chan_receive) == 8; }));
  for (pair& its : pairs) {
    all.go([&] { blocks(its.door, its.blocked); });
  }
  EXPECT_TRUE(wait_until([&] {
    for (pair const& its : pairs) {
      if (its.blocked == 0) return false;
    }
    return true;
  }));
  for (pair const& its : pairs) {
    for (pair const& other : pairs) EXPECT_NE(its.blocked, other.home) << "a thread that is a goroutine's home";
  }
  for (pair& its : pairs) its.news.send(1);
  all.wait();
  EXPECT_TRUE(no_goroutine_is_at_home());
}

TEST_P(make_way, T08_in_a_call_that_is_announced) {
  for (auto const hint : {blocking_hint::may_be_short, blocking_hint::long_call}) {
    run([hint] {
      leave_m0();
      let_one_depend_on_the_other([hint](gate const& door, std::atomic<int>& blocked) {
        blocking(
            [&] {
              blocked = rt::os::current_tid();
              door.wait();
            },
            hint);
      });
    });
  }
}

TEST_P(make_way, T08_in_a_call_inside_of_which_it_used_the_runtime) {
  run([] {
    leave_m0();
    let_one_depend_on_the_other([](gate const& door, std::atomic<int>& blocked) {
      blocking([&] {
        sleep_for(100us);  // it may be anywhere after this
        blocked = rt::os::current_tid();
        door.wait();
      });
    });
  });
}

TEST_P(make_way, T08_locked_to_its_thread) {
  run([] {
    leave_m0();
    let_one_depend_on_the_other([](gate const& door, std::atomic<int>& blocked) {
      os_thread_lock const lock;
      blocked = rt::os::current_tid();
      blocking([&] { door.wait(); });
      EXPECT_EQ(rt::os::current_tid(), blocked);
    });
  });
}

TEST_P(make_way, T08_locked_to_its_thread_and_parked) {
  run([] {
    leave_m0();
    chan<int> news;
    chan<int> answer;
    auto at_home = spawn([=]() mutable {
      call_at_home([&] { EXPECT_EQ(news.recv(), 1); });
      answer.send(2);
    });
    EXPECT_TRUE(wait_until([] { return waiting_for(rt::wait_reason::chan_receive) == 1; }));
    auto locked = spawn([=]() mutable {
      os_thread_lock const lock;
      news.send(1);
      EXPECT_EQ(answer.recv(), 2);
    });
    locked.join();
    at_home.join();
  });
}

// A call that must block, made at home: others that are at home there would have to wait for it.
TEST_P(make_way, T08_one_that_is_at_home_has_others_block_for_it) {
  run([] {
    leave_m0();
    let_one_depend_on_the_other([](gate const& door, std::atomic<int>& blocked) {
      call_at_home([&] {
        spawn([&] {
          blocking(
              [&] {
                blocked = rt::os::current_tid();
                door.wait();
              },
              blocking_hint::long_call);
        }).join();
      });
    });
  });
}

// And if it blocks itself, it comes back on its thread.
TEST_P(make_way, T08_one_that_is_at_home_comes_back_to_its_thread_from_a_call) {
  run([] {
    leave_m0();
    wait_group all;
    for (int i = 0; i < 2 * procs(); ++i) {
      all.go([&, i] {
        for (int round = 0; round < scaled(50, 10); ++round) {
          call_at_home([&] {
            blocking([] { rt::os::yield_thread(); },
                     i % 2 == 0 ? blocking_hint::may_be_short : blocking_hint::long_call);
          });
        }
      });
    }
    all.wait();
  });
}

// A goroutine that has blocked goes back to a thread that is home to others. So there is one thread for each goroutine
// that blocks at a time, and not one for each resident.
TEST_P(make_way, T08_residents_do_not_spread_over_more_and_more_threads) {
  in_run_order const undisturbed;
  run([] {
    leave_m0();
    constexpr int goroutines = 100;
    std::atomic<int> blocked{0};
    std::atomic<int> blocked_max{0};
    wait_group all;
    for (int i = 0; i < goroutines; ++i) {
      all.go([&] {
        for (int round = 0; round < scaled(30, 5); ++round) {
          call_at_home([] { sleep_for(1ms); });
          blocking([&] {
            int const now = ++blocked;
            for (int most = blocked_max; now > most && !blocked_max.compare_exchange_weak(most, now);) {
            }
            --blocked;
          });
        }
      });
    }
    all.wait();
    // On a busy machine a few more are on their way; if they spread it would be one for each goroutine.
    EXPECT_LE(num_threads(), 2 * procs() + blocked_max + goroutines / 4);
    EXPECT_TRUE(no_goroutine_is_at_home());
  });
}

// With no thread to be had it stays, rather than end the program: what it waits for is not what others could do.
TEST_P(make_way, T08_at_the_limit_of_threads_it_stays) {
  run_with({.max_procs = procs(), .max_threads = procs() + 2}, [] {
    leave_m0();
    wait_group all;
    for (int i = 0; i < 8; ++i) {
      all.go([i] {
        for (int round = 0; round < scaled(50, 10); ++round) {
          call_at_home([] { sleep_for(100us); });
          // Two of them, both put off their CPUs in there, would want one thread more.
          if (procs() == 1 && i == 0) blocking([] {});
        }
      });
    }
    all.wait();
  });
}

// There are M0 and one thread for all other goroutines, so a goroutine that is locked to the second thread is locked to
// the home of another goroutine. Calls `locked` when everything is set up.
template <class F>
void lock_on_m_with_residents(F locked) {
  run_with({.max_procs = 1, .max_threads = 2}, [&] {
    leave_m0();
    chan<int> news;
    std::atomic<int> home{0};
    wait_group all;
    all.go([&, news]() mutable {
      home = rt::os::current_tid();
      call_at_home([&] { EXPECT_EQ(news.recv(), 1); });
    });
    EXPECT_TRUE(wait_until([] { return waiting_for(rt::wait_reason::chan_receive) == 1; }));
    all.go([&] {
      lock_os_thread();
      EXPECT_EQ(rt::os::current_tid(), home) << "there was another thread after all";
      locked();
    });
    EXPECT_TRUE(wait_until([] { return num_goroutines() == 2; }));
    news.send(1);
    all.wait();
    EXPECT_TRUE(no_goroutine_is_at_home());
  });
}

TEST(make_way_at_the_limit, T08_one_that_is_locked_stays_when_threads_can_be_had_again) {
  lock_on_m_with_residents([] {
    int const tid = rt::os::current_tid();
    set_max_threads(100);
    for (auto const hint : {blocking_hint::may_be_short, blocking_hint::long_call}) {
      blocking([&] { EXPECT_EQ(rt::os::current_tid(), tid); }, hint);
    }
    lock_os_thread();
    EXPECT_EQ(rt::os::current_tid(), tid);
    unlock_os_thread();
    unlock_os_thread();
  });
}

TEST(make_way_at_the_limit, T08_one_that_ends_locked_does_not_take_an_m_with_residents_with_it) {
  lock_on_m_with_residents([] {});
}

}  // namespace
}  // namespace thrum::test
