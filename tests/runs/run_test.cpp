// run(): begins and ends on its caller's thread, as often as one likes (T02, S05).
#include "base/atomic.h"
#include "os/clock.h"
#include "os/thread.h"
#include "support/baton.h"
#include "support/child.h"
#include "support/child_test.h"
#include "support/first_thread.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/slices.h"
#include <thrum/blocking.h>
#include <thrum/go.h>
#include <thrum/mutex.h>
#include <thrum/run.h>
#include <thrum/runtime.h>
#include <thrum/sleep.h>
#include <thrum/wait_group.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

class run_ : public at_every_width {};
THRUM_AT_EVERY_WIDTH(run_);

TEST_P(run_, S05_main_returns_its_value) {
  EXPECT_EQ(run([] { return 42; }), 42);
  EXPECT_EQ(run([] {}), 0);
  EXPECT_EQ(run([] {
              wait_away_from_the_first_thread();
              return 7;
            }),
            7);
}

thread_local int callers_own = 0;

// Out of line: a compiler may keep a thread-local's address across a call that moves the goroutine.
[[gnu::noinline]] int& own() { return callers_own; }

TEST_P(run_, T02_it_returns_on_its_callers_thread) {
  auto const check = [&] {
    int const tid = rt::os::current_tid();
    own() = 4711;
    int elsewhere = 0;
    run([&] {
      EXPECT_EQ(rt::os::current_tid(), tid) << "main begins on the caller's thread";
      wait_away_from_the_first_thread();
      elsewhere = rt::os::current_tid();
    });
    EXPECT_NE(elsewhere, tid) << "main has waited: the first thread is not for goroutines any more";
    EXPECT_EQ(rt::os::current_tid(), tid);
    EXPECT_EQ(own(), 4711);
  };
  check();
  std::thread(check).join();
  check();
}

TEST(run_at_P1, T02_main_waits_and_the_others_run) {
  run_at(1, [] {
    int const callers_tid = rt::os::current_tid();
    std::string order;
    wait_group ended;
    for (char const name : {'a', 'b', 'c'}) {
      ended.go([&, name] {
        EXPECT_NE(rt::os::current_tid(), callers_tid) << "the first thread runs only main";
        order += name;
        yield();
        order += static_cast<char>(name - 'a' + 'A');
      });
    }
    ended.wait();
    EXPECT_EQ(order.size(), 6U) << order;
  });
}

TEST_P(run_, DL10_an_exception_that_leaves_main_leaves_run) {
  for (int waits = 0; waits < 2; ++waits) {
    try {
      run([&] {
        if (waits == 1) wait_away_from_the_first_thread();
        throw std::runtime_error("from main");
      });
      ADD_FAILURE() << "the exception is lost";
    } catch (std::runtime_error const& e) {
      EXPECT_STREQ(e.what(), "from main");
    }
    EXPECT_EQ(std::uncaught_exceptions(), 0);
    EXPECT_EQ(run([] { return 3; }), 3) << "and the next run works";
  }
}

// run inside a catch block: the caller's exception is its own, before and after.
TEST_P(run_, CP02_the_callers_exception_stays_with_the_caller) {
  try {
    throw std::runtime_error("caller's");
  } catch (std::runtime_error const&) {
    run([] {
      EXPECT_EQ(std::current_exception(), nullptr);
      try {
        throw 1;
      } catch (int) {
        yield();
      }
      wait_away_from_the_first_thread();
    });
    try {
      throw;
    } catch (std::runtime_error const& e) {
      EXPECT_STREQ(e.what(), "caller's");
    }
  }
}

// --- what is left behind ---

TEST_P(run_, S05_goroutines_that_are_left_behind_are_harmless) {
  static rt::atomic<std::int64_t> ran_after{0};
  struct left_things {
    baton never;
    wait_group never_done;
    mutex held;
  };
  // Where they wait must outlive them, and they outlive this test.
  static std::array<left_things, 64> things;
  static std::size_t used = 0;
  for (int round = 0; round < 4; ++round) {
    left_things& mine = things.at(used++);
    mine.never_done.add(1);
    run([&] {
      for (int i = 0; i < 10; ++i) {
        if (i == 0) go([&mine] { mine.never.take(); });
        go([&mine] { mine.never_done.wait(); });
        go([&mine] { mine.held.lock(); });
        go([] {
          for (;;) yield();
        });
        go([&mine] { spawn([&mine] { mine.never_done.wait(); }).join(); });
      }
      for (int i = 0; i < 100; ++i) yield();
      for (int i = 0; i < 1000; ++i) go([] { ran_after.fetch_add(1, rt::relaxed); });
    });
    std::int64_t const then = ran_after.load(rt::relaxed);
    // The next run is unharmed, and none of the old ones comes back to life in it.
    int counted = 0;
    run([&] {
      EXPECT_EQ(num_goroutines(), 1);
      wait_group ended;
      rt::atomic<int> ran{0};
      for (int i = 0; i < 100; ++i) ended.go([&] { ran.fetch_add(1, rt::relaxed); });
      ended.wait();
      counted = ran.load(rt::relaxed);
    });
    EXPECT_EQ(counted, 100);
    EXPECT_EQ(ran_after.load(rt::relaxed), then);
  }
}

// --- a goroutine that cannot be stopped ---

class run_in_a_child : public child_test {};

TEST_F(run_in_a_child, S05_run_returns_although_a_goroutine_spins_without_a_call) {
  auto const child = [] {
    static rt::atomic<bool> spins{false};
    std::int64_t took_ns = 0;
    thrum::run(
        [&] {
          go([] {
            spins.store(true, rt::relaxed);
            for (;;) asm volatile("");
          });
          while (!spins.load(rt::relaxed)) rt::os::yield_thread();
          took_ns = -rt::os::monotonic_ns();
        },
        {.max_procs = 2});
    took_ns += rt::os::monotonic_ns();
    if (took_ns > 5'000'000'000) std::_Exit(10);  // its patience is 0.2 s
    // And another run is possible beside it.
    int const result = thrum::run(
        [] {
          wait_group ended;
          for (int i = 0; i < 10; ++i) ended.go([] { yield(); });
          ended.wait();
          return 5;
        },
        {.max_procs = 2});
    std::exit(result == 5 ? 0 : 11);  // with all destructors of the program
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
}

// --- the statics of the program are destroyed after the last step of the last goroutine ---

constinit rt::atomic<std::uint64_t> steps{0};

class looks_on_while_it_is_destroyed {
 public:
  ~looks_on_while_it_is_destroyed() {
    std::uint64_t const before = steps.load(rt::relaxed);
    if (before == 0) std::_Exit(12);
    for (std::int64_t const until_ns = rt::os::monotonic_ns() + 50'000'000; rt::os::monotonic_ns() < until_ns;) {
      rt::os::yield_thread();
      if (steps.load(rt::relaxed) != before) std::_Exit(13);
    }
  }
};

void step() { steps.fetch_add(1, rt::relaxed); }

// Four goroutines that never end, and the end of the program.
void end_beside(void (*loop)()) {
  static looks_on_while_it_is_destroyed const last;
  // Else main may wait for its turn for as long as slices last in the tests: ten seconds.
  with_slices_of const slices(std::chrono::milliseconds(10));
  thrum::run(
      [&] {
        for (int i = 0; i < 4; ++i) go(loop);
        while (steps.load(rt::relaxed) < 1000) yield();
      },
      {.max_procs = 4});
  std::exit(0);
}

TEST_F(run_in_a_child, S05_statics_are_destroyed_while_nothing_runs) {
  void (*const loops[])() = {
      [] {
        for (;; step()) yield();
      },
      [] {
        for (;; step()) sleep_for(std::chrono::microseconds(1));
      },
      [] {
        for (;; step()) blocking([] {});
      },
  };
  for (auto const loop : loops) {
    EXPECT_EXIT(end_beside(loop), testing::ExitedWithCode(0), "");
  }
}

TEST_F(run_in_a_child, S05_statics_are_destroyed_while_loops_without_calls_stand_still) {
  THRUM_SKIP_IF_LOOPS_ARE_NOT_STOPPED_FOR_GOOD();
  auto const loop = [] {
    for (;;) step();
  };
  EXPECT_EXIT(end_beside(loop), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace thrum::test
