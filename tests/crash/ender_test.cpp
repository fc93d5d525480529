// A program that crashes is ended by one goroutine (core/ender.h). Its last words, which are the on_panic function or
// the terminate handler, are not cut off by other goroutines and threads that crash meanwhile, and it does not wait for
// itself.
#include "core/ender.h"

#include "base/platform.h"
#include "base/report_limits.h"
#include "crash/crasher.h"
#include "crash/enders.h"
#include "os/thread.h"
#include <thrum/thrum.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <initializer_list>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum::test {
namespace {

using testing::ExitedWithCode;
using testing::KilledBySignal;

// --- the last words are not cut off ---

TEST_F(enders, a_terminate_handler_is_not_cut_off_by_a_fault) {
  THRUM_SKIP_WITH_SANITIZERS();
  EXPECT_EXIT(
      {
        std::set_terminate(speak_until_a_thread_sleeps);
        run_both(terminates, faults_second);
      },
      KilledBySignal(SIGABRT), "std::terminate: (.*\n)*the last words are complete\n");
}

TEST_F(enders, a_terminate_handler_is_not_cut_off_by_a_fault_on_the_thread_that_it_has_left) {
  THRUM_SKIP_WITH_SANITIZERS();
  EXPECT_EXIT(
      {
        std::set_terminate(speak_until_a_thread_sleeps);
        run_both(terminates, [] {
          keep_the_ps_busy([] {
            if (rt::os::current_tid() == thread_of_report) faults_second();
          });
        });
      },
      KilledBySignal(SIGABRT), "the last words are complete\n");
}

TEST_F(enders, a_terminate_handler_is_not_cut_off_by_a_panic) {
  EXPECT_EXIT(
      {
        std::set_terminate(speak_until_a_panic_is_parked);
        run_both(terminates, panics);
      },
      KilledBySignal(SIGABRT), "the last words are complete\n");
}

TEST_F(enders, a_terminate_handler_is_not_cut_off_by_a_thread_from_outside) {
  THRUM_SKIP_WITH_SANITIZERS();
  for (auto* const second : {faults_on_a_thread, terminates_on_a_thread}) {
    EXPECT_EXIT(
        {
          std::set_terminate(speak_until_a_thread_sleeps);
          run_both(terminates, second);
        },
        KilledBySignal(SIGABRT), "the last words are complete\n");
  }
}

TEST_F(enders, an_on_panic_function_is_not_cut_off_by_a_fault) {
  THRUM_SKIP_WITH_SANITIZERS();
  EXPECT_FATAL(
      {
        on_panic([](panic_info const&) { speak_until_a_thread_sleeps(); });
        run_both(panics, faults_second);
      },
      "panic: boom\n(.*\n)*the last words are complete\n");
}

TEST_F(enders, an_on_panic_function_is_not_cut_off_by_terminate) {
  EXPECT_FATAL(
      {
        on_panic([](panic_info const&) { speak_until_a_thread_sleeps(); });
        run_both(panics, terminates_second);
      },
      "panic: boom\n(.*\n)*the last words are complete\n");
}

// --- the wait for the ender has a limit ---

// The limit is twenty seconds of reports. Without it the child's alarm ends it.
TEST_F(enders, an_on_panic_function_that_waits_for_a_goroutine_that_has_panicked_does_not_keep_the_program_alive) {
  static mutex held;
  EXPECT_EXIT(
      {
        rt::set_second_of_reports(100'000'000);
        on_panic([](panic_info const&) {
          last_words_begin = true;
          while (!a_panic_is_parked()) sleep_for(std::chrono::milliseconds(1));
          held.lock();
        });
        run_both(panics, [] {
          held.lock();
          panics();
        });
      },
      ExitedWithCode(2), "panic: boom\n");
}

// --- the ender does not wait for itself ---

TEST_F(enders, a_terminate_handler_that_goes_on_on_another_thread_ends_the_program_at_once) {
  EXPECT_EXIT(
      {
        std::set_terminate([] {
          int const before = rt::os::current_tid();
          while (rt::os::current_tid() == before) sleep_for(std::chrono::milliseconds(1));
          ::alarm(at_once_seconds);
          std::abort();
        });
        run_named([] {
          keep_the_ps_busy([] {});
          std::terminate();
        });
      },
      KilledBySignal(SIGABRT), "std::terminate: ");
}

TEST_F(enders, a_fault_in_the_last_words_ends_the_program_at_once) {
  THRUM_SKIP_WITH_SANITIZERS();
  auto const fault_at_once = [] {
    ::alarm(at_once_seconds);
    writes_to_nowhere();
  };
  EXPECT_EXIT(
      {
        std::set_terminate(fault_at_once);
        run_named(terminates);
      },
      KilledBySignal(SIGSEGV), "std::terminate: ");
  EXPECT_EXIT(
      {
        on_panic([=](panic_info const&) { fault_at_once(); });
        run_named(panics);
      },
      KilledBySignal(SIGSEGV), "panic: boom\n");
}

TEST_F(enders, S20_a_terminate_handler_that_no_goroutine_can_wake) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  EXPECT_EXIT(
      {
        std::set_terminate([] { static_cast<void>(chan<int>().recv()); });
        run_named(terminates);
      },
      KilledBySignal(SIGABRT), "thrum: the terminate handler waits, and no goroutine can wake it\n$");
}

// --- children ---

TEST_F(enders, a_child_that_the_terminate_handler_forks_does_not_wait_for_its_parent) {
  EXPECT_EXIT(
      {
        std::set_terminate([] {
          ::alarm(at_once_seconds);
          pid_t const child = ::fork();
          if (child == 0) std::abort();
          int status = 0;
          ::waitpid(child, &status, 0);
          ::_exit(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? 7 : 8);
        });
        run_named(terminates);
      },
      ExitedWithCode(7), "std::terminate: ");
}

// It runs in the memory of its parent.
TEST_F(enders, a_child_of_vfork_that_terminates_leaves_no_trace_in_its_parent) {
  if (rt::with_tsan) GTEST_SKIP() << "ThreadSanitizer makes a fork of vfork";
  EXPECT_EXIT(
      {
        std::set_terminate([] { ::_exit(7); });
        run_named([] {
          ::alarm(at_once_seconds);
          pid_t const child = ::vfork();
          if (child == 0) std::terminate();
          int status = 0;
          ::waitpid(child, &status, 0);
          if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) ::_exit(8);
          std::abort();
        });
      },
      KilledBySignal(SIGABRT), "^thrum: fatal error: SIGABRT: abort\n(.*\n)*goroutine [0-9]+ \\[running\\] crasher\n");
}

// --- handlers of the program's own ---

void* closed_page = nullptr;
void open_page(int) { ::mprotect(closed_page, 4096, PROT_READ | PROT_WRITE); }

void install_open_page(std::initializer_list<int> signals) {
  for (int const signal : signals) ::signal(signal, open_page);
}

// After a report on terminate the program goes on, in the terminate handler and on other threads.
TEST_F(enders, a_report_on_terminate_leaves_the_programs_signal_handlers_in_force) {
  for (bool const all : {false, true}) {
    EXPECT_EXIT(
        {
          closed_page = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
          std::set_terminate([] {
            *static_cast<char volatile*>(closed_page) = 1;
            ::_exit(7);
          });
          thrum::run([all] {
            install_open_page({SIGSEGV});
            if (all) install_open_page({SIGBUS, SIGFPE, SIGILL, SIGABRT});
            std::terminate();
          });
        },
        ExitedWithCode(7), "std::terminate: ");
  }
}

}  // namespace
}  // namespace thrum::test
