// fork() in a program whose run() was called on a thread that is not its first one. The child has only the thread that
// called fork, and the C library takes the stacks of all other threads for free ones.
#include "base/platform.h"
#include "runs/in_child.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include <thrum/thrum.h>

#include <cstdlib>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum {
namespace {

class forked_on_other_threads : public test::at_every_width {
 protected:
  template <class F>
  static void on_another_thread(F f) {
    std::thread(std::move(f)).join();
  }
};
THRUM_AT_EVERY_WIDTH(forked_on_other_threads);

TEST_P(forked_on_other_threads, what_needs_a_runtime_says_why_there_is_none) {
  on_another_thread([] { run(fork_from_everywhere); });
}

TEST_P(forked_on_other_threads, the_child_may_exit) {
  if (rt::with_asan) GTEST_SKIP() << "the leak check of the child does not see what stopped threads refer to";
  on_another_thread([] {
    run([] {
      auto const exits = [] {
        pid_t const child = fork_with_a_limit();
        if (child == 0) std::exit(as_expected);
        return exit_code_of(child);
      };
      EXPECT_EQ(exits(), as_expected) << "main";
      test::leave_m0();
      EXPECT_EQ(exits(), as_expected) << "main, on another thread";
      int code = 0;
      blocking([&] { on_another_thread([&] { code = exits(); }); });
      EXPECT_EQ(code, as_expected) << "a thread from outside";
    });
  });
}

// The C library gives new threads stacks that it takes for free ones.
bool can_use_threads() {
  int volatile sum = 0;
  for (int i = 0; i < 4; ++i) std::thread([&] { sum = sum + 1; }).join();
  return sum == 4;
}

TEST_P(forked_on_other_threads, run_returns_when_main_does_on_the_thread_that_called_it) {
  if (rt::with_asan || rt::with_tsan) GTEST_SKIP() << "the sanitizer is not told of the change of stacks";
  on_another_thread([] {
    pid_t child = -1;
    run([&] { child = fork_with_a_limit(); });
    if (child == 0) ::_exit(can_use_threads() ? as_expected : 20);
    EXPECT_EQ(exit_code_of(child), as_expected);
  });
}

// The stack of the thread that called run() is not the child's to use.
TEST_P(forked_on_other_threads, run_does_not_return_on_another_thread_and_says_so) {
  if (rt::with_asan || rt::with_tsan) GTEST_SKIP() << "the sanitizer is not told of the change of stacks";
  on_another_thread([] {
    pid_t child = -1;
    run([&] {
      test::leave_m0();
      child = fork_with_a_limit();
    });
    if (child == 0) ::_exit(20);
    EXPECT_EQ(exit_code_of(child), 2);
  });
}

}  // namespace
}  // namespace thrum
