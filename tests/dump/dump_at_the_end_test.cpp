// The goroutine dump at a deadlock (DL-01) and when SIGQUIT comes (S01).
#include "dump/dumps.h"
#include "support/child_test.h"
#include "support/goroutines.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using rt::wait_reason;
using test::calls_the_one_that_waits;
using test::loops_in_here;
using test::names_are_known;
using test::run_at;
using test::wait_until;
using test::waiting_for;
using test::waits_in_here;

class dump_fatal : public test::child_test {};

TEST_F(dump_fatal, DL01_S20_a_deadlock_shows_where_all_goroutines_wait) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  std::string expected = "all goroutines are asleep - deadlock!\n(.*\n)*goroutine 1 \\[waiting: chan receive\\]";
  if (names_are_known()) expected += "(.*\n)*.*waits_in_here";
  EXPECT_FATAL(thrum::run([] {
                 chan<int> c;
                 calls_the_one_that_waits(c);
               }),
               expected);
  THRUM_SKIP_WITHOUT_NAMES();
}

TEST_F(dump_fatal, S01_SIGQUIT_writes_it_and_ends_the_program) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  std::string expected = "SIGQUIT: quit\n(.*\n)*goroutine [0-9]+ \\[waiting: chan receive\\] quiet";
  if (names_are_known()) expected += "(.*\n)*.*waits_in_here";
  EXPECT_FATAL(thrum::run(
                   [] {
                     chan<int> c;
                     go([&] {
                       this_goroutine::set_name("quiet");
                       calls_the_one_that_waits(c);
                     });
                     while (waiting_for(wait_reason::chan_receive) != 1) thrum::yield();
                     ::kill(::getpid(), SIGQUIT);
                     for (;;) sleep_for(1ms);
                   },
                   {.max_procs = 2}),
               expected);
  THRUM_SKIP_WITHOUT_NAMES();
}

[[gnu::noinline]] void sleeps_in_the_kernel() {
  timespec const long_enough{3600, 0};
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &long_enough, nullptr);
  asm volatile("");
}

bool a_goroutine_was_seen_in(long call) {
  auto const calls = read_stats().unannounced_calls;
  return std::any_of(calls.begin(), calls.end(), [&](auto const& one) { return one.system_call == call; });
}

TEST_F(dump_fatal, S01_SIGQUIT_shows_a_goroutine_that_hangs_in_a_call_that_was_not_announced) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  THRUM_SKIP_IF_EMULATED();
  std::string expected =
      "SIGQUIT: quit\n(.*\n)*goroutine [0-9]+ \\[syscall\\].*:\nin system call [0-9]+ \\(clock_nanosleep\\)\n";
  if (names_are_known()) expected += "(.*\n)*.*sleeps_in_the_kernel";
  EXPECT_FATAL(thrum::run(
                   [] {
                     go([] { sleeps_in_the_kernel(); });
                     while (!a_goroutine_was_seen_in(SYS_clock_nanosleep)) thrum::yield();
                     ::kill(::getpid(), SIGQUIT);
                     for (;;) sleep_for(1ms);
                   },
                   {.max_procs = 2}),
               expected);
  THRUM_SKIP_WITHOUT_NAMES();
}

TEST_F(dump_fatal, S01_SIGQUIT_also_beside_loops) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  std::string const expected = names_are_known() ? "SIGQUIT: quit\n(.*\n)*.*loops_in_here" : "SIGQUIT: quit\n";
  EXPECT_FATAL(
      {
        static std::atomic<bool> loops{false};
        static std::atomic<bool> never{false};
        std::thread([] {
          while (!loops) std::this_thread::yield();
          ::kill(::getpid(), SIGQUIT);
        }).detach();
        thrum::run([] { loops_in_here(loops, never); }, {.max_procs = 1});
      },
      expected);
  THRUM_SKIP_WITHOUT_NAMES();
}

TEST(quit_signal, S01_an_action_of_the_program_stays) {
  static std::atomic<int> calls{0};
  calls = 0;
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) { ++calls; };
  ASSERT_EQ(::sigaction(SIGQUIT, &action, &before), 0);
  run_at(2, [] {
    ::raise(SIGQUIT);
    EXPECT_TRUE(wait_until([] { return calls == 1; }));
  });
  ::sigaction(SIGQUIT, &before, nullptr);
}

}  // namespace
}  // namespace thrum
