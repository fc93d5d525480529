// Goroutines that compute when their run ends. They are stopped for good outside the C library (T03), and later runs
// work beside them.
#include "base/atomic.h"
#include "core/sched.h"
#include "os/late_code.h"
#include "os/thread.h"
#include "preemption/loops.h"
#include "support/child_test.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <gtest/gtest.h>
#include <link.h>
#include <signal.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::filling;
using test::loop_for_ever;
using test::read_the_clock;
using test::run_at;
using test::run_beside_library_loops;
using test::run_with;
using test::scaled;
using test::start_a_loop;
using test::with_slices_of;

class library_locks_at_the_end : public test::child_test {};

// The loops are stopped for good when run returns. The end of the program needs the same locks.
TEST_F(library_locks_at_the_end, T03_the_program_ends_after_the_run) {
  THRUM_SKIP_IF_LOOPS_ARE_NOT_STOPPED_FOR_GOOD();
  std::int64_t const rounds = test::is_long() ? 1'000 : scaled(20, 3);
  for (std::int64_t i = 0; i < rounds; ++i) {
    EXPECT_EXIT(
        {
          run_beside_library_loops(2, 3);
          for (int k = 0; k < 100; ++k) std::free(std::malloc(static_cast<std::size_t>(k) * 100));
          std::fprintf(stderr, "ends\n");
          std::exit(7);
        },
        testing::ExitedWithCode(7), "ends");
  }
}

// The goroutine gets signals for as long as it computes. The default action of this signal number ends the program, and
// later runs use other numbers.
TEST_F(library_locks_at_the_end, T03_T15_one_that_computes_in_the_c_library_after_the_run_does_no_harm_to_later_ones) {
  THRUM_SKIP_IF_LOOPS_ARE_NOT_STOPPED_FOR_GOOD();
  EXPECT_EXIT(
      {
        static std::atomic<int> rounds{0};
        with_slices_of const slices(1ms);
        run_with({.max_procs = 1, .preempt_signal = SIGUSR2}, [] {
          start_a_loop([fill = filling(1'000'000)]() mutable {
            fill();
            ++rounds;
          });
        });
        for (int const next : {SIGUSR2, SIGURG, SIGUSR2}) {
          run_with({.max_procs = 1, .preempt_signal = next}, [] { sleep_for(1ms); });
          int const before = rounds;
          auto const goes_on = [=] { return rounds < before + 200; };  // some ten milliseconds at least
          while (goes_on() && rt::Sched::threads_asleep_for_good.load(rt::relaxed) == 0) rt::os::yield_thread();
        }
        std::exit(7);
      },
      testing::ExitedWithCode(7), "");
}

// The goroutine keeps the lock of the list of loaded objects.
TEST_F(library_locks_at_the_end, T03_T12_the_next_run_begins_although_one_was_left_in_a_callback_of_the_loader) {
  THRUM_SKIP_IF_LOOPS_ARE_NOT_STOPPED_FOR_GOOD();
  if (!rt::os::loader_can_be_asked) GTEST_SKIP() << "before glibc 2.35 the list is read again";
  EXPECT_EXIT(
      {
        with_slices_of const slices(1ms);
        run_at(1, [] {
          static std::atomic<bool> is_inside{false};
          go([] {
            ::dl_iterate_phdr(
                [](dl_phdr_info*, std::size_t, void*) {
                  is_inside = true;
                  loop_for_ever();
                  return 0;
                },
                nullptr);
          });
          EXPECT_TRUE(test::wait_until([] { return is_inside.load(); }));
        });
        run_at(2, [] { sleep_for(1ms); });
        std::fprintf(stderr, "ends\n");
        std::exit(7);
      },
      testing::ExitedWithCode(7), "ends");
}

TEST(the_end, T02_T03_loops_are_stopped_and_the_next_run_works) {
  THRUM_SKIP_IF_LOOPS_ARE_NOT_STOPPED_FOR_GOOD();
  static std::atomic<std::uint64_t> rounds{0};
  with_slices_of const slices(1ms);
  for (int i = 0; i < 3; ++i) {
    run_at(2, [] {
      std::atomic<int> started{0};
      for (int k = 0; k < 2; ++k) {
        go([&] {
          ++started;
          for (;;) ++rounds;
        });
      }
      EXPECT_TRUE(test::wait_until([&] { return started == 2; }));
    });
    std::uint64_t const at_the_end = rounds;
    for (int k = 0; k < 10; ++k) rt::os::yield_thread();
    EXPECT_EQ(rounds, at_the_end) << "no thread runs user code any more";
  }
}

template <class Step>
void expect_that_a_loop_is_stopped_soon_after_the_run(Step step) {
  EXPECT_EXIT(
      {
        with_slices_of const slices(1ms);
        run_at(1, [&] { start_a_loop(std::move(step)); });
        bool const stopped = test::wait_until([] { return rt::Sched::threads_asleep_for_good.load(rt::relaxed) > 0; });
        std::exit(stopped ? 7 : 1);
      },
      testing::ExitedWithCode(7), "");
}

// The loop is outside the C library for some hundredths of its time. So the end of the run rarely finds it there.
TEST_F(library_locks_at_the_end, T03_a_loop_over_memset_does_not_compute_for_long_after_the_run) {
  THRUM_SKIP_IF_LOOPS_ARE_NOT_STOPPED_FOR_GOOD();
  expect_that_a_loop_is_stopped_soon_after_the_run(filling(5'000));
}

// The loop is not stopped where the time is read, because an allocator that reads the time would keep its lock for
// good. It is stopped some time later, outside.
TEST_F(library_locks_at_the_end, T03_a_loop_that_reads_the_clock_does_not_compute_for_long_after_the_run) {
  THRUM_SKIP_IF_LOOPS_ARE_NOT_STOPPED_FOR_GOOD();
  expect_that_a_loop_is_stopped_soon_after_the_run(read_the_clock);
}

// What the next run must know of threads that the last one left asleep.
class the_end_in_a_child : public test::child_test {};

TEST_F(the_end_in_a_child, T13_a_deadlock_is_found_although_threads_of_an_earlier_run_are_asleep) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  THRUM_SKIP_IF_LOOPS_ARE_NOT_STOPPED_FOR_GOOD();
  EXPECT_FATAL(
      {
        with_slices_of const slices(1ms);
        run_at(1, [] { start_a_loop(); });
        while (rt::Sched::threads_asleep_for_good.load(rt::relaxed) == 0) rt::os::yield_thread();  // it may be late
        run_at(1, [] { static_cast<void>(chan<int>().recv()); });
      },
      "all goroutines are asleep");
}

TEST(the_end, T12_a_handle_of_a_run_that_ended_beside_a_loop_says_so) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  with_slices_of const slices(1ms);
  join_handle<int> left;
  run_at(1, [&] {
    left = spawn([] {
      static_cast<void>(chan<int>().recv());
      return 1;
    });
    start_a_loop();
  });
  run_at(1, [&] { EXPECT_THROW(left.join(), std::logic_error); });
}

// The first run keeps the signal number, because it leaves a goroutine computing. Then the program sets a handler that
// does not call thrum's.
TEST_F(library_locks_at_the_end, T15_a_run_that_finds_the_programs_handler_in_the_place_of_ours_preempts) {
  THRUM_SKIP_IF_LOOPS_ARE_NOT_STOPPED_FOR_GOOD();
  EXPECT_EXIT(
      {
        with_slices_of const slices(1ms);
        run_at(1, [] { start_a_loop(filling(1'000'000)); });
        static std::atomic<int> arrived{0};
        struct sigaction mine {};
        mine.sa_handler = [](int) { ++arrived; };
        ::sigaction(SIGURG, &mine, nullptr);
        run_at(1, [] {
          int const before = arrived;  // of timers, while the program's was alone
          start_a_loop();
          ::raise(SIGURG);
          std::error_code refused;
          bool const is_subscribed = static_cast<bool>(signals({SIGURG}, refused));
          std::exit(arrived == before + 1 && !is_subscribed ? 7 : 1);
        });
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace thrum
