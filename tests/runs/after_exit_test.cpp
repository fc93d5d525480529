// What destructors of static objects may do after exit() on a goroutine (sched/exit_stage.h).
#include "base/atomic.h"
#include "base/platform.h"
#include "debug/dump.h"
#include "support/child_test.h"
#include "support/goroutines.h"
#include "support/hogs.h"
#include "support/kept.h"
#include "support/leak_checks.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include "support/with_debug.h"
#include "support/with_environment.h"
#include <thrum/thrum.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::run_at;
using test::with_slices_of;

// What the destructor of a static object does.
std::atomic<void (*)()> last_act{nullptr};
struct witness {
  ~witness() {
    if (auto const act = last_act.load()) act();
  }
};
witness made_before_main;

class after_exit : public test::child_test, public testing::WithParamInterface<int> {};
THRUM_AT_WIDTHS(after_exit, 1, 2, 8);

// Beside goroutines in every queue: some are runnable, one waits for its turn on its own thread.
void exit_beside_others(int procs, void (*act)()) {
  last_act = act;
  with_slices_of const slices(1ms);
  run_at(procs, [] {
    static std::atomic<int> started{0};
    for (int i = 0; i < 4; ++i) {
      go([] {
        ++started;
        for (;;) thrum::yield();
      });
    }
    go([] {
      lock_os_thread();
      ++started;
      for (;;) thrum::yield();
    });
    EXPECT_TRUE(test::wait_until([] { return started == 5; }));
    std::exit(7);
  });
}

class after_exit_beside_a_dump : public test::child_test {};

// The thread of the debug socket has begun to stop the world for a dump, and waits for the goroutine that calls exit().
TEST_F(after_exit_beside_a_dump, a_destructor_may_stop_the_world) {
  EXPECT_EXIT(
      {
        test::do_not_look_for_leaks();
        last_act = [] { EXPECT_GT(set_max_procs(2), 0); };
        test::with_debug const without_signals("asyncpreemptoff=1");
        run_at(1, [] {
          rt::Sched& s = test::this_sched();
          static std::atomic<bool> is_seen{false};
          std::thread([&s] {
            while (!is_seen) {  // a dump gives up before long, and may do so before this goroutine has seen it
              rt::goroutine_list all;
              rt::note_on_thread(s, all);
            }
          }).detach();
          auto const world_stops = [&s] {
            rt::os::lock_guard const guard(s.lock);
            return s.world.is_under_way();
          };
          while (!world_stops()) rt::cpu_relax();
          is_seen = true;
          std::exit(7);
        });
      },
      testing::ExitedWithCode(7), "^$");
}

TEST_P(after_exit, a_destructor_may_write_a_file) {
  EXPECT_EXIT(exit_beside_others(GetParam(),
                                 [] {
                                   char name[] = "/tmp/thrum_after_exit_XXXXXX";
                                   int const made = ::mkstemp(name);
                                   std::error_code error;
                                   file log = file::open(name, open_for::write, 0600, error);
                                   std::string_view const text = "the last words";
                                   auto const written = log.write_all(text, error);
                                   log.close();
                                   char read[32] = {};
                                   bool const is_there = ::read(made, read, sizeof read) == 14 && read == text;
                                   ::unlink(name);
                                   if (error || written != text.size() || !is_there) ::_exit(1);
                                 }),
              testing::ExitedWithCode(7), "");
}

TEST_P(after_exit, a_destructor_may_announce_blocking_calls) {
  EXPECT_EXIT(exit_beside_others(GetParam(),
                                 [] {
                                   for (int i = 0; i < 100; ++i) {
                                     blocking([] { ::usleep(10); });
                                     blocking([] { blocking([] {}); }, blocking_hint::long_call);
                                   }
                                 }),
              testing::ExitedWithCode(7), "");
}

// For longer than sysmon leaves a processor to a thread that sleeps in the kernel.
TEST_P(after_exit, a_destructor_may_sleep_in_the_kernel_and_use_the_runtime_afterwards) {
  EXPECT_EXIT(exit_beside_others(GetParam(),
                                 [] {
                                   for (int i = 0; i < 3; ++i) {
                                     ::usleep(50'000);
                                     thrum::yield();
                                   }
                                 }),
              testing::ExitedWithCode(7), "");
}

TEST_P(after_exit, a_destructor_may_yield_and_lock_its_thread) {
  EXPECT_EXIT(exit_beside_others(GetParam(),
                                 [] {
                                   for (int i = 0; i < 1'000; ++i) thrum::yield();
                                   lock_os_thread();
                                   thrum::yield();
                                   for (int i = 0; i < 3; ++i) unlock_os_thread();  // more than locks
                                   for (int i = 0; i < 1'000; ++i) thrum::yield();
                                 }),
              testing::ExitedWithCode(7), "");
}

// Its slice is over again and again: calls that may switch look at that.
TEST_P(after_exit, a_destructor_may_compute_and_use_channels_for_long) {
  EXPECT_EXIT(exit_beside_others(GetParam(),
                                 [] {
                                   chan<int> numbers(1);
                                   auto const until = std::chrono::steady_clock::now() + 30ms;
                                   while (std::chrono::steady_clock::now() < until) {
                                     numbers.send(1);
                                     if (numbers.recv() != 1) ::_exit(1);
                                   }
                                 }),
              testing::ExitedWithCode(7), "");
}

class after_exit_beside_a_loop : public test::child_test {};

TEST_F(after_exit_beside_a_loop, a_destructor_that_needs_all_processors_ends_the_program_with_a_message) {
  THRUM_SKIP_IF_LOOPS_ARE_NOT_STOPPED_FOR_GOOD();
  EXPECT_FATAL(
      {
        last_act = [] { static_cast<void>(set_max_procs(3)); };
        run_at(2, [] {
          static std::atomic<std::uint64_t> rounds{0};
          go([] {
            for (;;) ++rounds;
          });
          EXPECT_TRUE(test::wait_until([] { return rounds > 1'000; }));
          std::exit(7);
        });
      },
      "has called exit\\(\\) and waits \\(for all processors\\)");
}

// --- a lock that a stopped goroutine holds ---

// Redirects standard error to a pipe. A thread that is not thrum's passes the output on, and ends the program as soon
// as these words have come.
void exit_when_standard_error_says(std::string const& words) {
  static std::array<int, 2> ends{};
  static int const real = ::dup(STDERR_FILENO);
  if (::pipe(ends.data()) != 0 || ::dup2(ends[1], STDERR_FILENO) < 0) ::_exit(1);
  std::thread([=] {
    std::string all;
    char text[512];
    while (all.find(words) == std::string::npos) {
      auto const got = ::read(ends[0], text, sizeof text);
      if (got <= 0) ::_exit(1);
      all.append(text, static_cast<std::size_t>(got));
    }
    if (::write(real, all.data(), all.size()) < 0) ::_exit(1);
    ::_exit(7);
  }).detach();
}

std::mutex of_the_program;

TEST_P(after_exit, a_destructor_that_waits_for_a_lock_of_a_stopped_goroutine_is_reported) {
  EXPECT_EXIT(
      {
        exit_when_standard_error_says("does not lock");
        last_act = [] { of_the_program.lock(); };
        run_at(GetParam(), [] {
          static chan<int> never;
          go([] {
            of_the_program.lock();
            static_cast<void>(never.recv());
          });
          while (of_the_program.try_lock()) {
            of_the_program.unlock();
            thrum::yield();
          }
          std::exit(7);
        });
      },
      testing::ExitedWithCode(7),
      "goroutine 1 has called exit\\(\\), and has been waiting for a lock for more than a second");
}

// --- beside the end of the run ---

// Main returns, and another goroutine calls exit() at any moment of that, beside many threads that must be woken once.
// Either of them may end the program, because the end of the run may stop the goroutine before it calls exit().
class exit_beside_the_end : public test::child_test {};

void exit_while_run_returns(std::chrono::microseconds exit_is_late_by) {
  static std::atomic<bool> main_returns{false};
  run_at(4, [=] {
    constexpr int sleepers = 200;
    static auto const& never = test::kept<chan<int>>();  // exit() must not destroy it beside its waiters
    static std::atomic<int> ready{0};
    for (int i = 0; i < sleepers; ++i) {
      go([] {
        lock_os_thread();
        ++ready;
        static_cast<void>(never.recv());
      });
    }
    go([=] {
      ++ready;
      while (!main_returns) rt::cpu_relax();
      auto const until = std::chrono::steady_clock::now() + exit_is_late_by;
      while (std::chrono::steady_clock::now() < until) rt::cpu_relax();
      std::exit(7);
    });
    EXPECT_TRUE(test::wait_until([] { return ready == sleepers + 1; }));
    main_returns = true;
  });
  ::_exit(7);
}

TEST_F(exit_beside_the_end, they_agree_on_one_and_each_thread_is_woken_once) {
  test::without_reports_of_unjoined_threads const meanwhile;  // sysmon may have ended
  for (auto late = 0us; late < 1'000us; late += 25us) {
    EXPECT_EXIT(exit_while_run_returns(late), testing::ExitedWithCode(7), "");
  }
}

}  // namespace
}  // namespace thrum
