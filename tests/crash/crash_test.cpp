// Goroutines that end the program without a panic: by faults, abort, std::terminate, and by goexit where it cannot
// unwind.
#include "crash/crasher.h"
#include "support/child_test.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum::test {
namespace {

using testing::ExitedWithCode;
using testing::KilledBySignal;

class crashes : public child_test {};

[[gnu::noinline]] void reads_behind_the_end_of_a_file() {
  std::FILE* const empty = std::tmpfile();
  void* const mapped = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, ::fileno(empty), 0);
  static_cast<void>(*static_cast<char const volatile*>(mapped));
}

#if defined(__x86_64__)
[[gnu::noinline]] void divides_by_zero() {
  int volatile number = 7;  // the compiler knows what 1 / x is, without a division
  int volatile zero = 0;
  number = number / zero;
}
#endif

[[gnu::noinline]] void calls_a_null_pointer() {
  void (*volatile no_function)() = nullptr;
  no_function();
  asm volatile("");  // no tail call: the frame stays
}

[[gnu::noinline]] void gives_up() {
  std::abort();
  asm volatile("");
}

TEST_F(crashes, a_fault_names_the_goroutine_and_its_stack_and_ends_the_program_by_its_signal) {
  THRUM_SKIP_WITH_SANITIZERS();
  EXPECT_EXIT(run_named(writes_to_nowhere), KilledBySignal(SIGSEGV),
              report_of("thrum: fatal error: SIGSEGV: .* at address 0x40 ", "writes_to_nowhere"));
  EXPECT_EXIT(run_named(is_no_instruction), KilledBySignal(SIGILL),
              report_of("thrum: fatal error: SIGILL: ", "is_no_instruction"));
  EXPECT_EXIT(run_named(reads_behind_the_end_of_a_file), KilledBySignal(SIGBUS),
              report_of("thrum: fatal error: SIGBUS: ", "reads_behind_the_end_of_a_file"));
#if defined(__x86_64__)  // on aarch64 a division by zero is no fault
  EXPECT_EXIT(run_named(divides_by_zero), KilledBySignal(SIGFPE),
              report_of("thrum: fatal error: SIGFPE: ", "divides_by_zero"));
#endif
}

TEST_F(crashes, a_call_of_a_null_pointer_names_the_caller) {
  THRUM_SKIP_WITH_SANITIZERS();
  EXPECT_EXIT(run_named(calls_a_null_pointer), KilledBySignal(SIGSEGV), report_of("SIGSEGV", "calls_a_null_pointer"));
}

TEST_F(crashes, abort_names_the_goroutine_and_its_stack) {
  EXPECT_EXIT(run_named(gives_up), KilledBySignal(SIGABRT),
              report_of("thrum: fatal error: SIGABRT: abort", "gives_up"));
}

// A child of fork has no scheduler and no goroutines: it ends as a program without thrum does.
TEST_F(crashes, a_child_of_fork_ends_by_its_signal_without_a_report) {
  THRUM_SKIP_WITH_SANITIZERS();
  EXPECT_EXIT(run_named([] {
                if (::fork() == 0) writes_to_nowhere();
                int status = 0;
                ::wait(&status);
                ::_exit(WIFSIGNALED(status) ? WTERMSIG(status) : 0);
              }),
              ExitedWithCode(SIGSEGV), "^$");
}

// Not thrum's: a thread from outside dies as ever, and so does the program by a signal that another process sends.
TEST_F(crashes, what_is_no_goroutines_has_no_report) {
  THRUM_SKIP_WITH_SANITIZERS();
  EXPECT_EXIT(run_named([] { std::thread(writes_to_nowhere).join(); }), KilledBySignal(SIGSEGV), "^$");
  EXPECT_EXIT(run_named([] {
                ::kill(::getpid(), SIGABRT);
                for (;;) sleep_for(std::chrono::seconds(1));
              }),
              KilledBySignal(SIGABRT), "^$");
}

// --- handlers of the program's own ---

void leave_with_7(int) { ::_exit(7); }

TEST_F(crashes, a_handler_that_was_there_before_the_run_has_the_fault_and_no_report_comes_before_it) {
  for (int const signal : {SIGSEGV, SIGABRT}) {
    EXPECT_EXIT(
        {
          ::signal(signal, leave_with_7);
          run_named(signal == SIGSEGV ? writes_to_nowhere : gives_up);
        },
        ExitedWithCode(7), "^$");
  }
}

TEST_F(crashes, so_has_one_that_comes_during_the_run) {
  EXPECT_EXIT(run_named([] {
                ::signal(SIGSEGV, leave_with_7);
                writes_to_nowhere();
              }),
              ExitedWithCode(7), "^$");
}

TEST_F(crashes, a_terminate_handler_that_was_there_before_the_run_follows_the_report) {
  EXPECT_EXIT(
      {
        std::set_terminate([] { ::_exit(7); });
        run_named([] { std::terminate(); });
      },
      ExitedWithCode(7), "thrum: fatal error: std::terminate: (.*\n)*goroutine [0-9]+ \\[running\\] crasher\n");
}

TEST_F(crashes, a_terminate_handler_that_comes_during_the_run_replaces_the_report) {
  EXPECT_EXIT(run_named([] {
                std::set_terminate([] { ::_exit(7); });
                std::terminate();
              }),
              ExitedWithCode(7), "^$");
}

TEST(crash_handlers, the_terminate_handler_is_the_programs_after_the_run) {
  auto const before = std::get_terminate();
  for (int i = 0; i < 2; ++i) {
    thrum::run([&] { EXPECT_NE(std::get_terminate(), before); });
    EXPECT_EQ(std::get_terminate(), before);
  }
}

// --- std::terminate ---

[[gnu::noinline]] void throws() { throw std::runtime_error("boom"); }
[[gnu::noinline]] void must_not_throw() noexcept { throws(); }

// The compiler must not know that the handler of what is thrown beside it is never reached.
bool volatile shall_exit = true;
struct goexit_in_destructor {
  ~goexit_in_destructor() {
    if (shall_exit) goexit();
  }
};
[[gnu::noinline]] void throws_beside_goexit_in_a_destructor() {
  try {
    goexit_in_destructor const last;
    throws();
  } catch (std::runtime_error const&) {  // without it nothing would be unwound
  }
}

struct throw_in_destructor {
  ~throw_in_destructor() { throws(); }
};
[[gnu::noinline]] void goexits_beside_a_throw_in_a_destructor() {
  throw_in_destructor const last;
  goexit();
}

[[gnu::noinline]] void must_not_exit() noexcept { goexit(); }

TEST_F(crashes, terminate_says_why_and_where) {
  EXPECT_EXIT(run_named([] { std::terminate(); }), KilledBySignal(SIGABRT),
              report_of("thrum: fatal error: std::terminate: called by the program", "run_named|crasher"));
  EXPECT_EXIT(run_named(must_not_throw), KilledBySignal(SIGABRT),
              report_of("std::terminate: an exception left a noexcept function.*\n\twhat: boom", "must_not_throw"));
}

TEST_F(crashes, goexit_that_cannot_unwind_says_why_and_where) {
  EXPECT_EXIT(run_named(throws_beside_goexit_in_a_destructor), KilledBySignal(SIGABRT),
              report_of("std::terminate: goexit was called in a destructor while an exception",
                        "throws_beside_goexit_in_a_destructor"));
  EXPECT_EXIT(run_named(goexits_beside_a_throw_in_a_destructor), KilledBySignal(SIGABRT),
              report_of("std::terminate: a destructor threw an exception while goexit.*\n\twhat: boom",
                        "goexits_beside_a_throw_in_a_destructor"));
  EXPECT_EXIT(run_named(must_not_exit), KilledBySignal(SIGABRT),
              report_of("std::terminate: goexit cannot unwind through a noexcept function", "must_not_exit"));
}

// --- overflow ---

[[gnu::noinline]] int recurses_without_end(int depth) {
  char volatile frame[64];
  frame[0] = static_cast<char>(depth);
  int const deeper = depth == -1 ? 0 : recurses_without_end(depth + 1);
  return deeper + frame[0];
}

TEST_F(crashes, S29_SK_01_an_overflow_shows_the_function_that_recursed_and_what_to_do) {
  std::string expected = "thrum: goroutine [0-9]+ stack overflow: the stack of 262144 bytes .*\n";
  if (rt::symbols().reads_files()) expected += "recurses_without_end.*\n(.*\n)*.*recurses_without_end.*\n(.*\n)*";
  expected = expected.replace(expected.find(".*\n") + 3, 0, "(.*\n)*.*");
  EXPECT_FATAL(run_named([] { static_cast<void>(recurses_without_end(0)); }),
               expected + "created at .*\n(.*\n)*raise it with thrum::go\\(thrum::stack_size\\{524288\\}");
}

TEST_F(crashes, SK01_an_overflow_of_a_child_that_is_joined_in_place_names_the_child) {
  EXPECT_FATAL(
      thrum::run(
          [] {
            auto child = spawn(recurses_without_end, 0);
            static_cast<void>(child.join());
          },
          {.max_procs = 1}),
      "goroutine ([2-9]|[0-9][0-9]+) stack overflow: (.*\n)*goroutine [0-9]+ runs on the stack of goroutine 1, which "
      "joins it\n");
}

// --- signal stacks ---

[[gnu::noinline]] int needs_much_stack(int) {
  char volatile much[128 * 1024];
  for (std::size_t i = sizeof much; i > 0; i -= 1024) much[i - 1] = 1;
  return much[0];
}

TEST_F(crashes, a_handler_that_uses_up_the_signal_stack_is_reported_and_overwrites_nothing) {
  THRUM_SKIP_WITH_SANITIZERS();
  EXPECT_EXIT(run_named([] {
                struct sigaction action {};
                action.sa_handler = [](int) { static_cast<void>(needs_much_stack(0)); };
                action.sa_flags = SA_ONSTACK;
                ::sigaction(SIGUSR1, &action, nullptr);
                ::raise(SIGUSR1);
              }),
              KilledBySignal(SIGSEGV),
              "thrum: fatal error: a signal handler has overflowed the signal stack of its thread(.*\n)*"
              "goroutine [0-9]+ \\[running\\] crasher\n");
}

// --- reports on all ---

TEST_F(crashes, when_main_has_left_by_goexit_a_deadlock_names_those_that_wait) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  EXPECT_FATAL(
      thrum::run([] {
        go([] {
          this_goroutine::set_name("waits");
          chan<int> never;
          static_cast<void>(never.recv());
        });
        goexit();
      }),
      "fatal error: all goroutines are asleep - deadlock!\n(.*\n)*goroutine [0-9]+ \\[waiting: chan receive\\] waits");
}

std::atomic<bool> loops{false};

[[gnu::noinline]] void loops_in_here() {
  loops = true;
  for (;;) asm volatile("");
}

TEST_F(crashes, SIGQUIT_shows_the_stacks_of_loops_also_without_preemption_by_signal) {
  if (rt::with_tsan) GTEST_SKIP() << "ThreadSanitizer defers signals: loops without calls are not stopped";
  if (!rt::symbols().reads_files()) GTEST_SKIP() << "no libdw: no names of functions to look for";
  EXPECT_FATAL(
      {
        ::setenv("THRUM_DEBUG", "asyncpreemptoff=1", 1);
        std::thread([] {
          while (!loops) std::this_thread::yield();
          ::kill(::getpid(), SIGQUIT);
        }).detach();
        run_named(loops_in_here);
      },
      "SIGQUIT: quit\n(.*\n)*.*loops_in_here");
}

TEST_F(crashes, so_does_a_panic_that_shows_all_goroutines) {
  if (rt::with_tsan) GTEST_SKIP() << "ThreadSanitizer defers signals: loops without calls are not stopped";
  if (!rt::symbols().reads_files()) GTEST_SKIP() << "no libdw: no names of functions to look for";
  EXPECT_FATAL(
      {
        ::setenv("THRUM_DEBUG", "asyncpreemptoff=1,traceback=all", 1);
        run_named([] {
          go(loops_in_here);
          while (!loops) thrum::yield();
          throws();
        });
      },
      "panic: boom\n(.*\n)*.*loops_in_here");
}

}  // namespace
}  // namespace thrum::test
