// What preemption must not break: locks of the C library (T03), threads (T05), the program's own signals (T15).
#include "core/current.h"
#include "core/sched.h"
#include "os/interrupted_code.h"
#include "os/late_code.h"
#include "os/pause_signal.h"
#include "os/thread.h"
#include "support/child.h"
#include "support/child_test.h"
#include "support/goroutines.h"
#include "support/hogs.h"
#include "support/plugin.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/tries.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::loop_for_ever;
using test::preempted;
using test::run_at;
using test::run_with;
using test::scaled;
using test::with_slices_of;

// Returns when it has begun: at P=1 it has been preempted then.
template <class Step>
void start_a_loop(Step step) {
  std::atomic<bool> has_begun{false};
  go([&has_begun, step = std::move(step)]() mutable {
    has_begun = true;
    for (;;) step();
  });
  while (!has_begun) yield();
}
void start_a_loop() {
  start_a_loop([] { rt::cpu_relax(); });
}

// --- T03: the C library's locks ---

void* volatile sink;

// In a loop hardly ever met outside the C library.
struct filling {
  explicit filling(std::size_t bytes) : block(bytes) {}
  void operator()() {
    std::memset(block.data(), 1, block.size());
    sink = block.data();
  }
  std::vector<char> block;
};

void loop_in_malloc() {
  for (std::size_t i = 0;; ++i) {
    void* const block = std::malloc(i % 5000 + 1);
    sink = block;
    std::free(block);
  }
}

void loop_in_printf() {
  std::FILE* const nowhere = std::fopen("/dev/null", "w");
  for (int i = 0;; ++i) std::fprintf(nowhere, "%d %s %f\n", i, "text", i * 0.5);
}

void loop_in_throw() {
  for (int i = 0;; ++i) {
    try {
      throw std::runtime_error(std::to_string(i));
    } catch (std::runtime_error const& error) {
      sink = const_cast<char*>(error.what());
    }
  }
}

void run_beside_library_loops(int procs, int rounds) {
  with_slices_of const slices(1ms);
  run_at(procs, [=] {
    go(loop_in_malloc);
    go(loop_in_printf);
    go(loop_in_throw);
    chan<std::string> const words;
    go([=] {
      for (int i = 0;; ++i) words.send(std::string(100, 'x') + std::to_string(i));
    });
    for (int i = 0; i < rounds; ++i) {
      EXPECT_EQ(words.recv()->substr(100), std::to_string(i));
      std::vector<std::string> const some(10, std::string(1000, 'y'));
      EXPECT_EQ(some.back().size(), 1000U);
    }
  });
}

TEST(library_locks, T01_T03_CP_04_loops_in_malloc_printf_and_throw_do_not_stop_others_at_one_p) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  run_beside_library_loops(1, static_cast<int>(scaled(100, 10)));
}

TEST(library_locks, T01_T03_CP_04_loops_in_malloc_printf_and_throw_do_not_stop_others_at_two_ps) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  run_beside_library_loops(2, static_cast<int>(scaled(100, 10)));
}

// --- T03: the loader's locks ---

int compute_a_little(dl_phdr_info*, std::size_t, void* objects) {
  for (int i = 0; i < 10'000; ++i) asm volatile("");  // enough to be paused here, with the loader's lock
  ++*static_cast<int*>(objects);
  return 0;
}

// A goroutine that is paused while it holds a lock of the loader gets its turn, although other goroutines wait for the
// lock. The loops end before the run does. The loader calls the malloc of these tests, which is part of the program,
// and a goroutine that is stopped for good there would keep the locks that the end of the program needs.
void run_beside_loader_loops(int procs, int rounds, std::chrono::seconds at_least) {
  with_slices_of const slices(1ms);
  std::string const file = test::plugin_file();
  run_at(procs, [&] {
    std::atomic<bool> stop{false};
    std::atomic<int> opened{0};
    std::atomic<int> looked_up{0};
    std::atomic<int> listed{0};
    wait_group loops;
    for (int i = 0; i < 2; ++i) {
      loops.go([&] {
        for (; !stop; ++opened) {
          void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
          ASSERT_NE(handle, nullptr);
          EXPECT_NE(::dlsym(handle, "plugin_data"), nullptr);
          EXPECT_EQ(::dlclose(handle), 0);
        }
      });
    }
    loops.go([&] {
      for (; !stop; ++looked_up) sink = ::dlsym(RTLD_DEFAULT, "fprintf");
    });
    loops.go([&] {
      for (; !stop; ++listed) {
        int objects = 0;
        EXPECT_EQ(::dl_iterate_phdr(compute_a_little, &objects), 0);
        EXPECT_GT(objects, 1);
      }
    });
    chan<std::string> const words;
    go([=] {
      for (int i = 0;; ++i) words.send(std::string(100, 'x') + std::to_string(i));
    });
    auto const until = clock::now() + at_least;
    for (int i = 0; i < rounds || clock::now() < until || opened == 0 || looked_up == 0 || listed == 0; ++i) {
      EXPECT_EQ(words.recv()->substr(100), std::to_string(i));
      try {
        throw std::runtime_error("the unwinder looks for its tables");
      } catch (std::runtime_error const&) {
      }
    }
    stop = true;
    loops.wait();
  });
}

// In the long form for ten seconds.
TEST(library_locks, T03_CP_04_loops_in_the_loader_do_not_stop_others_at_one_p) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  run_beside_loader_loops(1, static_cast<int>(scaled(100, 10)), test::is_long() ? 10s : 0s);
}

TEST(library_locks, T03_CP_04_loops_in_the_loader_do_not_stop_others_at_two_ps) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  run_beside_loader_loops(2, static_cast<int>(scaled(100, 10)), 0s);
}

template <class Step>
void expect_that_a_loop_stops_no_goroutine(Step step) {
  with_slices_of const slices(1ms);
  run_at(1, [&] {
    start_a_loop(std::move(step));
    for (int i = 0; i < 3; ++i) sleep_for(1ms);
  });
}

void read_the_clock() { static_cast<void>(std::chrono::steady_clock::now()); }

// It is hardly ever met outside the C library, and waited for there only so long.
TEST(library_locks, T03_a_loop_over_memset_does_not_stop_others) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  expect_that_a_loop_stops_no_goroutine(filling(1'000'000));
}

// Nor outside the kernel's own page, where the time is read.
TEST(library_locks, T03_a_loop_that_reads_the_clock_does_not_stop_others) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  expect_that_a_loop_stops_no_goroutine(read_the_clock);
}

class library_locks_at_the_end : public test::child_test {};

// The loops are stopped for good when run returns; then the same locks are needed by the program's own end.
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

// It goes on there, and keeps the lock that reading the list of loaded objects takes.
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

// It is outside the C library for some hundredths of its time: at the end of the run it is not met there as a rule.
TEST_F(library_locks_at_the_end, T03_a_loop_over_memset_does_not_compute_for_long_after_the_run) {
  THRUM_SKIP_IF_LOOPS_ARE_NOT_STOPPED_FOR_GOOD();
  expect_that_a_loop_is_stopped_soon_after_the_run(filling(5'000));
}

// Not where the time is read, since an allocator that reads it would keep its lock for good; but outside, some time.
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

// --- T05: threads ---

// In the long form as many and as long as the trap says, with slices as they are by default.
TEST(many_long_computations, T05_are_worked_off_by_a_bounded_number_of_threads) {
  bool const is_whole = test::is_long() && !rt::with_asan && !rt::with_tsan;
  std::int64_t const goroutines = is_whole ? 20'000 : scaled(400, 150);
  auto const each = is_whole ? 50ms : 3ms;
  with_slices_of const slices(is_whole ? 10'000us : 500us);
  run_at(2, [=] {
    int const bound = test::this_sched().pauses.max();
    wait_group all;
    std::atomic<int> most{0};
    for (std::int64_t i = 0; i < goroutines; ++i) {
      all.go([=] { test::compute_for(each); });
    }
    std::atomic<bool> over{false};
    wait_group looks;
    looks.go([&] {
      for (; !over; sleep_for(1ms)) most = std::max(most.load(), num_threads());
    });
    all.wait();
    over = true;
    looks.wait();
    EXPECT_LE(most, 2 * bound) << "of " << goroutines;
  });
}

// A goroutine is paused while it holds a lock. Another goroutine fills the run queue and then sleeps in the kernel for
// the lock. Returns how many goroutines of the run queue had run when the first goroutine continued.
int run_before_the_holder_of_the_lock() {
  constexpr int others = 10;
  int before_it = others;
  run_at(1, [&] {
    std::mutex shared;
    std::atomic<bool> is_wanted{false};
    std::atomic<int> ran{0};
    wait_group all;
    all.go([&] {
      all.go([&] {  // first in the queue once the slice of this one is over
        for (int i = 0; i < others; ++i) {
          all.go([&] { ++ran; });
        }
        is_wanted = true;
        std::lock_guard const lock(shared);
      });
      std::lock_guard const lock(shared);
      while (!is_wanted) rt::cpu_relax();
      before_it = ran;
    });
    all.wait();
    EXPECT_EQ(ran, others);
  });
  return before_it;
}

// The P of the goroutine that sleeps goes to the thread of the paused goroutine, before all goroutines in the queues.
// If the sleeper's slice ends before it sleeps, the queued goroutines run first.
TEST(many_long_computations, T05_the_holder_of_a_lock_goes_before_others_when_a_thread_sleeps_for_it) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  if (test::emulated()) GTEST_SKIP() << "the emulator's threads do not show where they sleep";
  with_slices_of const slices(5ms);
  constexpr int rounds = 9;
  int holder_was_first = 0;
  for (int i = 0; i < rounds; ++i) {
    if (run_before_the_holder_of_the_lock() == 0) ++holder_was_first;
  }
  EXPECT_GT(2 * holder_was_first, rounds);
}

TEST(many_long_computations, T05_each_starts_once_and_ends_once) {
  with_slices_of const slices(300us);
  run_at(2, [] {
    std::vector<std::atomic<int>> began(static_cast<std::size_t>(scaled(300, 100)));
    std::atomic<std::size_t> ended{0};
    wait_group all;
    for (auto& mine : began) {
      all.go([&] {
        ++mine;
        test::compute_for(2ms);
        ++ended;
      });
    }
    all.wait();
    EXPECT_EQ(ended, began.size());
    EXPECT_TRUE(std::all_of(began.begin(), began.end(), [](auto const& times) { return times == 1; }));
  });
}

TEST(many_long_computations, T05_no_goroutine_starves_at_the_limit_of_threads) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  with_slices_of const slices(500us);
  run_with({.max_procs = 1, .max_threads = 8}, [] {
    for (int i = 0; i < 20; ++i) go([] { loop_for_ever(); });
    for (int i = 0; i < 3; ++i) sleep_for(1ms);
    wait_group fresh;
    fresh.go([] {});
    fresh.wait();
    blocking([] { ::usleep(1000); });
    EXPECT_LE(read_stats().threads, 8);
  });
}

TEST(many_long_computations, T05_sleepers_beside_loops_do_not_end_the_program_at_the_limit_of_threads) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  with_slices_of const slices(500us);
  run_with({.max_procs = 2, .max_threads = 12}, [] {
    for (int i = 0; i < 4; ++i) go([] { loop_for_ever(); });
    wait_group sleepers;
    for (int i = 0; i < 8; ++i) {
      sleepers.go([] {
        for (int k = 0; k < 3; ++k) ::usleep(3000);  // an unannounced call
      });
    }
    sleepers.wait();
  });
}

TEST(many_long_computations, T05_without_a_thread_to_be_had_the_preemption_does_not_happen) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  with_slices_of const slices(1ms);
  run_with({.max_procs = 1, .max_threads = 2}, [] {
    wait_group all;
    for (int i = 0; i < 4; ++i) {
      all.go([] { test::compute_for(5ms); });
    }
    all.wait();
    EXPECT_LE(num_threads(), 2);
  });
}

// --- T15: signals ---

std::atomic<int> urgent{0};

// Uses another signal number than usual, because an earlier test may have left a goroutine computing, and such a run
// keeps its number for good.
TEST(signals, T15_what_others_send_goes_to_the_programs_handler) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  struct sigaction mine {};
  struct sigaction before {};
  mine.sa_handler = [](int) { ++urgent; };
  ASSERT_EQ(::sigaction(SIGUSR1, &mine, &before), 0);
  urgent = 0;
  with_slices_of const slices(1ms);
  run_with({.max_procs = 1, .preempt_signal = SIGUSR1}, [] {
    std::atomic<bool> has_begun{false};
    std::atomic<bool> stop{false};
    wait_group all;
    all.go([&] {
      has_begun = true;
      while (!stop) rt::cpu_relax();
    });
    EXPECT_TRUE(test::wait_until([&] { return has_begun && preempted(read_stats()) > 0; }));
    EXPECT_EQ(urgent, 0);
    // The kernel merges two pending signals with the same number into one, and that may be thrum's.
    EXPECT_TRUE(test::wait_until([] {
      ::raise(SIGUSR1);
      return urgent > 0;
    }));
    EXPECT_EQ(urgent, 1);
    stop = true;
    all.wait();
  });
  EXPECT_EQ(urgent, 1);
  struct sigaction after {};
  ASSERT_EQ(::sigaction(SIGUSR1, &before, &after), 0);
  EXPECT_EQ(after.sa_handler, mine.sa_handler) << "handed back";
}

// The first run keeps the signal number, because it leaves a goroutine computing. Then the program sets a handler that
// does not call thrum's.
TEST_F(library_locks_at_the_end, T15_a_run_that_finds_the_programs_handler_in_the_place_of_ours_preempts) {
  THRUM_SKIP_IF_LOOPS_ARE_NOT_STOPPED_FOR_GOOD();
  EXPECT_EXIT(
      {
        with_slices_of const slices(1ms);
        run_at(1, [] { start_a_loop(filling(1'000'000)); });
        struct sigaction mine {};
        mine.sa_handler = [](int) { ++urgent; };
        ::sigaction(SIGURG, &mine, nullptr);
        run_at(1, [] {
          int const before = urgent;  // of timers, while the program's was alone
          start_a_loop();
          ::raise(SIGURG);
          std::error_code refused;
          bool const is_subscribed = static_cast<bool>(signals({SIGURG}, refused));
          std::exit(urgent == before + 1 && !is_subscribed ? 7 : 1);
        });
      },
      testing::ExitedWithCode(7), "");
}

TEST(signals, T15_another_signal_may_be_chosen) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  with_slices_of const slices(1ms);
  run_with({.max_procs = 1, .preempt_signal = SIGUSR2}, [] {
    start_a_loop();
    EXPECT_TRUE(test::wait_until([] { return preempted(read_stats()) > 0; }));
  });
  EXPECT_THROW(run_with({.preempt_signal = 0}, [] {}), std::invalid_argument);
  EXPECT_THROW(run_with({.preempt_signal = SIGKILL}, [] {}), std::system_error);
}

TEST(signals, T15_a_caller_that_blocks_the_signal_gets_its_mask_back) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  sigset_t urg;
  sigset_t before;
  sigemptyset(&urg);
  sigaddset(&urg, SIGURG);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &urg, &before), 0);
  with_slices_of const slices(1ms);
  run_at(1, [] {
    std::atomic<bool> ran{false};
    go([&] { ran = true; });
    while (!ran) rt::cpu_relax();  // main is on the caller's thread
  });
  sigset_t after;
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &before, &after), 0);
  EXPECT_EQ(sigismember(&after, SIGURG), 1);
}

// The default action of this one would end the program as soon as its mask is what it was.
TEST(signals, T15_one_that_main_has_blocked_when_it_ends_does_no_harm) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  run_with({.max_procs = 1, .preempt_signal = SIGUSR2}, [] {
    sigset_t mine;
    sigemptyset(&mine);
    sigaddset(&mine, SIGUSR2);
    lock_os_thread();
    ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &mine, nullptr), 0);
    rt::os::send_pause_signal(rt::os::current_tid());
  });
  SUCCEED() << "it lives";
}

// SS-08.
TEST(signals, SS_08_a_storm_of_preemptions_does_not_disturb_fork_and_exec) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  with_slices_of const slices(100us);
  run_at(2, [] {
    for (int i = 0; i < 3; ++i) go([] { loop_for_ever(); });
    for (int i = 0; i < 10; ++i) {
      pid_t const child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        ::execl("/bin/sh", "sh", "-c", "exit 5", nullptr);
        ::_exit(1);
      }
      int status = 0;
      pid_t const ended = blocking([&] { return TEMP_FAILURE_RETRY(::waitpid(child, &status, 0)); });
      EXPECT_EQ(ended, child);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 5) << status;
    }
    EXPECT_GT(preempted(read_stats()), 0U) << "no storm";
  });
}

// SS-08.
TEST(signals, SS_08_a_signal_for_one_thread_arrives_there) {
  static std::atomic<int> arrived_on{0};
  struct sigaction mine {};
  struct sigaction before {};
  mine.sa_handler = [](int) { arrived_on = rt::os::current_tid(); };
  mine.sa_flags = SA_ONSTACK;
  ASSERT_EQ(::sigaction(SIGUSR1, &mine, &before), 0);
  run_at(2, [] {
    std::atomic<int> other{0};
    std::atomic<bool> stop{false};
    wait_group all;
    all.go([&] {
      other = rt::os::current_tid();
      while (!stop) rt::os::yield_thread();
    });
    ASSERT_TRUE(test::spin_until([&] { return other != 0; }));
    auto const arrival = [&] {
      arrived_on = 0;
      auto const since = clock::now();
      EXPECT_EQ(::tgkill(::getpid(), other, SIGUSR1), 0);
      EXPECT_TRUE(test::spin_until([&] { return arrived_on != 0; }));
      EXPECT_EQ(arrived_on, other);
      return clock::now() - since;
    };
    auto const limit = 1s * test::slowness();
    EXPECT_LE(test::in_one_of(5, arrival, [=](auto took) { return took <= limit; }), limit);
    stop = true;
    all.wait();
  });
  ::sigaction(SIGUSR1, &before, nullptr);
}

// TR-08: a profiler's signal sees a goroutine on its own stack, or the mark.
std::atomic<int> half_switched{0};
std::atomic<int> samples{0};

void look_at_stack(int, siginfo_t*, void* context) {
  rt::M const* const m = rt::current_m();
  if (m == nullptr || m->in_runtime.load(rt::relaxed) || m->current == nullptr) return;
  auto const* const sp = reinterpret_cast<char const*>(rt::os::stack_pointer_of(context));
  // In a handler of the runtime's that has not set the mark yet, or has cleared it.
  if (sp >= m->signal_stack.low && sp < m->signal_stack.low + rt::os::alt_stack_bytes()) return;
  rt::stack const* const on = m->current->on;
  if (on == nullptr || sp < on->low || sp > on->top) ++half_switched;
  ++samples;
}

class profiled : public test::at_every_width {};
THRUM_AT_WIDTHS(profiled, 1, 2, 8);

TEST_P(profiled, TR_08_a_profiler_never_sees_a_half_switched_goroutine) {
  struct sigaction mine {};
  struct sigaction before {};
  mine.sa_sigaction = look_at_stack;
  mine.sa_flags = SA_ONSTACK | SA_SIGINFO | SA_RESTART;
  ASSERT_EQ(::sigaction(SIGPROF, &mine, &before), 0);
  itimerval const every_ms{{0, 1000}, {0, 1000}};
  itimerval const never{};
  ASSERT_EQ(::setitimer(ITIMER_PROF, &every_ms, nullptr), 0);
  half_switched = samples = 0;
  int tries = 0;
  do {
    run([] {
      wait_group all;
      for (int i = 0; i < 10; ++i) {
        all.go([] {
          for (std::int64_t k = 0; k < scaled(1'000'000, 10'000); ++k) {
            thrum::yield();
            for (int n = 0; n < 30; ++n) asm volatile("");  // some time outside, to be seen there
          }
        });
      }
      all.wait();
    });
  } while (samples == 0 && ++tries < 20);  // the kernel's clock may be a slow one
  ::setitimer(ITIMER_PROF, &never, nullptr);
  ::sigaction(SIGPROF, &before, nullptr);
  EXPECT_EQ(half_switched, 0);
  if (!rt::with_tsan) {  // which calls handlers late, from inside the runtime
    EXPECT_GT(samples, 0);
  }
}

}  // namespace
}  // namespace thrum
