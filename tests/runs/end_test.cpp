// The end of a run beside goroutines that must not be stopped for good where they are: in a signal handler, in a
// section that blocks signals, and in a function that the C library has called while it holds a lock.
#include "os/late_code.h"
#include "support/child_test.h"
#include "support/hogs.h"
#include "support/plugin.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::run_at;
using test::with_slices_of;

std::atomic<bool> is_inside{false};
std::atomic<bool> run_is_over{false};

void compute_until_the_run_is_over() {
  is_inside = true;
  while (!run_is_over) rt::cpu_relax();
}

// At one P main goes on when the goroutine was paused; at two it stands where it is when the run ends.
void end_run_beside(int procs, void (*body)()) {
  with_slices_of const slices(1ms);
  run_at(procs, [=] {
    go(body);
    EXPECT_TRUE(test::wait_until([] { return is_inside.load(); }));
  });
  run_is_over = true;
}

void write_with_a_handler_in_between(int flags) {
  struct sigaction mine {};
  mine.sa_handler = [](int) { compute_until_the_run_is_over(); };
  mine.sa_flags = flags;
  ::sigaction(SIGUSR1, &mine, nullptr);
  ::flockfile(stderr);
  ::raise(SIGUSR1);
  ::funlockfile(stderr);
}

class stopped_at_the_end : public test::child_test {};

TEST_F(stopped_at_the_end, T03_a_handler_on_the_signal_stack_that_interrupted_stdio_comes_to_its_end) {
  THRUM_SKIP_IF_LOOPS_ARE_NOT_STOPPED_FOR_GOOD();
  EXPECT_EXIT(
      {
        end_run_beside(2, [] { write_with_a_handler_in_between(SA_ONSTACK); });
        std::fprintf(stderr, "ends\n");
        std::exit(7);
      },
      testing::ExitedWithCode(7), "ends");
}

TEST_F(stopped_at_the_end, T03_a_handler_on_the_goroutines_stack_that_interrupted_stdio_comes_to_its_end) {
  THRUM_SKIP_IF_LOOPS_ARE_NOT_STOPPED_FOR_GOOD();
  EXPECT_EXIT(
      {
        end_run_beside(2, [] { write_with_a_handler_in_between(0); });
        std::fprintf(stderr, "ends\n");
        std::exit(7);
      },
      testing::ExitedWithCode(7), "ends");
}

std::atomic<bool> section_is_locked{false};

TEST_F(stopped_at_the_end, T03_a_section_that_blocks_a_signal_comes_to_its_end) {
  THRUM_SKIP_IF_LOOPS_ARE_NOT_STOPPED_FOR_GOOD();
  EXPECT_EXIT(
      {
        end_run_beside(2, [] {
          sigset_t one;
          sigset_t before;
          ::sigemptyset(&one);
          ::sigaddset(&one, SIGUSR1);
          ::pthread_sigmask(SIG_BLOCK, &one, &before);
          section_is_locked = true;
          compute_until_the_run_is_over();
          section_is_locked = false;
          ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
          test::loop_for_ever();
        });
        bool const was_left = test::wait_until([] { return !section_is_locked; });
        std::exit(was_left ? 7 : 1);
      },
      testing::ExitedWithCode(7), "");
}

// The plugin's constructor calls it, with the loader's lock held.
void load_the_plugin() {
  auto const address = reinterpret_cast<std::uintptr_t>(&compute_until_the_run_is_over);
  ::setenv("THRUM_TEST_PLUGIN_CALLS", std::to_string(address).c_str(), 1);
  ::dlopen(test::plugin_file().c_str(), RTLD_NOW | RTLD_LOCAL);
  test::loop_for_ever();
}

class called_by_the_c_library : public test::child_test, public testing::WithParamInterface<int> {};
THRUM_AT_WIDTHS(called_by_the_c_library, 1, 2);

TEST_P(called_by_the_c_library, T03_a_constructor_of_a_plugin_comes_to_its_end_and_the_program_can_exit) {
  THRUM_SKIP_IF_LOOPS_ARE_NOT_STOPPED_FOR_GOOD();
  if (!rt::os::loader_can_be_asked)
    GTEST_SKIP() << "before glibc 2.35 a stack cannot be walked without the loader's lock";
  EXPECT_EXIT(
      {
        end_run_beside(GetParam(), load_the_plugin);
        std::exit(7);  // needs the loader's lock
      },
      testing::ExitedWithCode(7), "");
}

pthread_once_t only_once = PTHREAD_ONCE_INIT;

TEST_P(called_by_the_c_library, T03_what_is_done_once_comes_to_its_end) {
  THRUM_SKIP_IF_LOOPS_ARE_NOT_STOPPED_FOR_GOOD();
  if (!rt::os::loader_can_be_asked)
    GTEST_SKIP() << "before glibc 2.35 a stack cannot be walked without the loader's lock";
  EXPECT_EXIT(
      {
        end_run_beside(GetParam(), [] {
          ::pthread_once(&only_once, compute_until_the_run_is_over);
          test::loop_for_ever();
        });
        ::pthread_once(&only_once, [] { std::abort(); });
        std::exit(7);
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace thrum
