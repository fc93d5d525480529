// Chaos (os/chaos.h, boot/chaos.h) does what its settings say, so a test that passes with chaos has met real disorder.
// Each test runs in a child process, because that has an environment of its own. Chaos exists only in builds with
// checks.
#include "base/atomic.h"
#include "os/fault.h"
#include "support/child_test.h"
#include "support/hogs.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <system_error>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

// Runs a child with this setting, and without settings that the test itself may have been started with. The child exits
// with 0 if it saw what the test expects.
class disorder : public child_test {
 protected:
  void SetUp() override {
    if constexpr (!rt::debug_checks) GTEST_SKIP() << "there is chaos in builds with checks only";
  }
  static void set(char const* mode, char const* value) {
    ::setenv("THRUM_CHAOS", "7", 1);
    for (char const* const other : {"THRUM_CHAOS_STOPS", "THRUM_CHAOS_RESIZE", "THRUM_CHAOS_PREEMPT"})
      ::unsetenv(other);
    if (mode != nullptr) ::setenv(mode, value, 1);
  }
  // main answers whether it happened.
  template <class F>
  [[noreturn]] static void run_in_child(char const* mode, int procs, F main) {
    set(mode, "1");
    with_slices_of const long_ones(std::chrono::seconds(10));  // none ends by itself
    std::exit(thrum::run([&] { return main() ? 0 : 1; }, {.max_procs = procs}));
  }
};

TEST_F(disorder, the_world_stops) {
  EXPECT_EXIT(
      run_in_child("THRUM_CHAOS_STOPS", 2,
                   [] { return wait_until([] { return read_stats().stopped_for.count >= 10; }) && max_procs() == 2; }),
      testing::ExitedWithCode(0), "");
}

TEST_F(disorder, the_number_of_ps_changes) {
  EXPECT_EXIT(run_in_child("THRUM_CHAOS_RESIZE", 2,
                           [] {
                             return wait_until([] { return max_procs() == 4; }) &&  // twice as many at most
                                    wait_until([] { return max_procs() == 1; }) && read_stats().stopped_for.count >= 2;
                           }),
              testing::ExitedWithCode(0), "");
}

// How many of a hundred goroutines have their turn, at one P, while main calls something that does not wait.
int turns_between_calls() {
  constexpr int calls = 4;
  chan<int> room(calls);
  int turns = 0;
  for (int i = 0; i < 100; ++i) {
    std::atomic<bool> has_run{false};
    auto other = spawn([&] { has_run = true; });
    for (int k = 0; k < calls; ++k) room.send(k);
    turns += has_run ? 1 : 0;
    other.join();
    for (int k = 0; k < calls; ++k) static_cast<void>(room.recv());
  }
  return turns;
}

// The storm alone would give the P to one or two goroutines. There are several tries, because main continues as long as
// there is no thread that could take the P over.
TEST_F(disorder, slices_end_at_every_entry) {
  auto const main = [] {
    int tries = 100;
    while (tries > 0 && turns_between_calls() < 25) --tries;
    return tries > 0;
  };
  EXPECT_EXIT(run_in_child("THRUM_CHAOS_PREEMPT", 1, main), testing::ExitedWithCode(0), "");
}

// main has its turn again although the one that has the only P calls nothing, and sysmon has not asked it to pause.
TEST_F(disorder, slices_end_in_the_middle_of_user_code) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  auto const main = [] {
    std::atomic<bool> stop{false};
    std::atomic<bool> loops{false};
    wait_group all;
    all.go([&] {
      loops = true;
      while (!stop) rt::cpu_relax();
    });
    while (!loops) yield();
    bool const by_chaos = read_stats().preemptions_asked == 0;
    stop = true;
    all.wait();
    return by_chaos;
  };
  EXPECT_EXIT(run_in_child("THRUM_CHAOS_PREEMPT", 1, main), testing::ExitedWithCode(0), "");
}

TEST_F(disorder, without_a_mode_there_are_only_delays) {
  EXPECT_EXIT(run_in_child(nullptr, 2,
                           [] {
                             for (int i = 0; i < 100; ++i) spawn([] { yield(); }).join();
                             return read_stats().stopped_for.count == 0 && max_procs() == 2;
                           }),
              testing::ExitedWithCode(0), "");
}

// Whichever of the first threads it is that cannot be made.
TEST_F(disorder, one_that_has_no_thread_says_so) {
  auto const child = [] {
    constexpr int threads_at_the_start = 5;
    set("THRUM_CHAOS_STOPS", "1");
    for (int i = 0; i < threads_at_the_start; ++i) {
      rt::os::inject_fault(rt::os::call::thread_create, EAGAIN, static_cast<std::uint64_t>(i));
      try {
        thrum::run([] {}, {.max_procs = 1});
      } catch (std::system_error const&) {  // one that is needed
      }
      rt::os::clear_faults();
    }
    std::exit(0);
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "thrum: the chaos thread could not be created \\(errno=11\\)");
}

}  // namespace
}  // namespace thrum::test
