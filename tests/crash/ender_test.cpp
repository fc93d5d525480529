// A program that crashes is ended by one goroutine (core/ender.h). Its last words, which are the on_panic function or
// the terminate handler, are not cut off by other goroutines and threads that crash meanwhile, and it does not wait for
// itself.
#include "core/ender.h"

#include "base/platform.h"
#include "base/report_limits.h"
#include "core/current.h"
#include "core/sched.h"
#include "crash/crasher.h"
#include "os/thread.h"
#include "os/thread_state.h"
#include "support/child_test.h"
#include "support/goroutines.h"
#include "support/kept.h"
#include "support/straggler.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <initializer_list>
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

class enders : public child_test {};

// Less than the time for which threads wait for the ender, and far more than the end of a program takes.
constexpr unsigned at_once_seconds = rt::with_asan || rt::with_tsan ? 30 : 10;

std::atomic<bool> last_words_begin{false};
std::atomic<int> thread_of_report{0};
std::atomic<int> second_thread{0};

// Runs both functions on goroutines. The second one begins when the last words of the first one have begun.
void run_both(void (*first)(), void (*second)()) {
  thrum::run(
      [=] {
        go([=] {
          if (!wait_until([] { return last_words_begin.load(); })) ::_exit(8);
          second();
        });
        go([=] { first(); });
        for (;;) sleep_for(std::chrono::seconds(1));
      },
      {.max_procs = 2});
}

bool second_thread_sleeps() {
  int const tid = second_thread;
  return tid != 0 && rt::os::thread_watch().look(tid).waits_for_a_lock();
}
bool a_panic_is_parked() { return waiting_for(rt::wait_reason::none) != 0; }

// The last words of the first goroutine. They go on until the second one has crashed and waits for the end.
void last_words_until(bool (*second_waits)()) {
  thread_of_report = rt::os::current_tid();
  last_words_begin = true;
  if (!wait_until([=] {
        sleep_for(std::chrono::milliseconds(1));  // so that it changes threads
        return second_waits();
      })) {
    ::_exit(9);
  }
  std::fprintf(stderr, "the last words are complete\n");
}
void speak_until_a_thread_sleeps() { last_words_until(second_thread_sleeps); }
void speak_until_a_panic_is_parked() { last_words_until(a_panic_is_parked); }

// Blocks all signals of the calling thread, so that the goroutine is not stopped when its run ends.
void block_all_signals() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

[[gnu::noinline]] void panics() { throw std::runtime_error("boom"); }
void terminates() { std::terminate(); }

void faults_second() {
  second_thread = rt::os::current_tid();
  writes_to_nowhere();
}
void terminates_second() {
  second_thread = rt::os::current_tid();
  std::terminate();
}
void faults_on_a_thread() { std::thread(faults_second).join(); }
void terminates_on_a_thread() { std::thread(terminates_second).join(); }

// Makes goroutines that compute and sleep in turn, so that goroutines change threads. Each calls `visit` in each turn.
void keep_the_ps_busy(void (*visit)()) {
  for (int i = 0; i < 4; ++i) {
    go([=] {
      for (;;) {
        for (int n = 0; n < 100'000; ++n) asm volatile("");
        sleep_for(std::chrono::microseconds(300));
        visit();
      }
    });
  }
}

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

TEST_F(enders, an_on_panic_function_is_not_cut_off_by_the_return_of_main) {
  static std::atomic<bool> main_returns{false};
  EXPECT_EXIT(
      {
        on_panic([](panic_info const&) {
          last_words_begin = true;
          while (!main_returns) sleep_for(std::chrono::milliseconds(1));
          sleep_for(std::chrono::seconds(1));  // far longer than run needs to return
          std::fprintf(stderr, "the last words are complete\n");
        });
        thrum::run([] {
          go(panics);
          while (!last_words_begin) sleep_for(std::chrono::milliseconds(1));
          main_returns = true;
        });
        ::_exit(0);
      },
      ExitedWithCode(2), "the last words are complete\n$");
}

// Main returns, and the goroutine panics when the end of the run has begun. Ends the process with code 0 if run
// returns.
void panic_while_the_run_ends() {
  thrum::run(
      [] {
        static std::atomic<bool> is_there{false};
        go([] {
          rt::run_end const& end = rt::current_m()->sched.end;
          block_all_signals();
          is_there = true;
          while (!end.is_seen()) {
          }
          panics();
        });
        while (!is_there) yield();
      },
      {.max_procs = 2});
  ::_exit(0);
}

TEST_F(enders, a_panic_while_the_run_ends_ends_the_program_although_its_on_panic_function_waits_for_good) {
  EXPECT_EXIT(
      {
        on_panic([](panic_info const&) {
          sleep_for(std::chrono::milliseconds(1));
          std::fprintf(stderr, "no M runs this\n");
        });
        panic_while_the_run_ends();
      },
      ExitedWithCode(2), "panic: boom\n");
}

TEST_F(enders, an_on_panic_function_that_does_not_wait_is_not_stopped_by_the_end_of_the_run) {
  EXPECT_EXIT(
      {
        on_panic([](panic_info const&) {
          sigset_t none;
          ::sigemptyset(&none);
          ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
          auto const until = clock::now() + std::chrono::seconds(1);  // far longer than run needs to return
          while (clock::now() < until) {
            for (int n = 0; n < 100'000; ++n) asm volatile("");
          }
          std::fprintf(stderr, "the last words are complete\n");
        });
        panic_while_the_run_ends();
      },
      ExitedWithCode(2), "panic: boom\n(.*\n)*the last words are complete\n$");
}

// Its copy constructor returns when the end of the run waits for it and a goroutine has panicked.
class slow_to_copy {
 public:
  slow_to_copy() = default;
  slow_to_copy(slow_to_copy const&) {
    rt::M const& seat = *rt::current_m();
    is_copied = true;
    if (!spin_until([&] { return seat.run_is_over.load(rt::acquire); })) ::_exit(8);
    run_ends = true;
    if (!spin_until(rt::has_ender)) ::_exit(8);
  }
  void operator()() const {}

  static inline std::atomic<bool> is_copied{false};
  static inline std::atomic<bool> run_ends{false};
};

// While the end of the run waits for a thread from outside, it has not stopped scheduling. If it stopped scheduling for
// the ender, the goroutine would not come back from its call.
TEST_F(enders, an_on_panic_function_comes_back_from_a_call_while_the_end_of_the_run_waits_for_a_thread) {
  static rt::run_end const* end = nullptr;
  static std::atomic<bool> is_there{false};
  EXPECT_EXIT(
      {
        on_panic([](panic_info const&) {
          constexpr std::int64_t longer_than_the_end_ns = 2'000'000'000;
          blocking([] {
            static_cast<void>(spin_until([] { return end->goroutines_are_left_behind(); }, longer_than_the_end_ns));
          });
          std::fprintf(stderr, "the last words are complete\n");
        });
        thrum::run(
            [] {
              end = &rt::current_m()->sched.end;
              go([] {
                is_there = true;
                while (!slow_to_copy::run_ends) {
                }
                if (end->is_seen()) {  // the machine is so slow that the end has not waited long enough
                  std::fprintf(stderr, "the last words are complete\n");
                  ::_exit(2);
                }
                panics();
              });
              if (!wait_until([] { return is_there.load(); })) ::_exit(8);
              std::thread([] {
                slow_to_copy const one;
                go(one);
              }).detach();
              if (!wait_until([] { return slow_to_copy::is_copied.load(); })) ::_exit(8);
            },
            {.max_procs = 2});
        ::_exit(0);
      },
      ExitedWithCode(2), "the last words are complete\n$");
}

// --- an ender that an earlier run has left behind ---

constexpr std::int64_t longer_than_a_run_ns = 1'000'000'000;

// Begins a run. While it ends, the goroutine of the earlier run panics. Ends the process with code 7 if run returns
// before the program ends.
void panic_of_an_earlier_run_while_a_run_ends() {
  auto& earlier = kept<straggler>(left_in::a_loop);
  static std::atomic<bool> is_there{false};
  static rt::run_end const* end = nullptr;
  thrum::run(
      [&] {
        end = &rt::current_m()->sched.end;
        go([] {
          block_all_signals();
          is_there = true;
          if (!spin_until(rt::has_ender)) ::_exit(8);
        });
        if (!wait_until([] { return is_there.load(); })) ::_exit(8);
        earlier.begins([] {
          while (!end->is_seen()) {
          }
          panics();
        });
      },
      {.max_procs = 2});
  static_cast<void>(spin_until([] { return false; }, 3 * longer_than_a_run_ns));  // for a machine that is very slow
  ::_exit(7);
}

TEST_F(enders, an_on_panic_function_of_an_earlier_run_is_not_cut_off_by_the_end_of_a_run) {
  EXPECT_EXIT(
      {
        on_panic([](panic_info const&) {
          static_cast<void>(spin_until([] { return false; }, longer_than_a_run_ns));
          std::fprintf(stderr, "the last words are complete\n");
        });
        panic_of_an_earlier_run_while_a_run_ends();
      },
      ExitedWithCode(2), "panic: boom\n(.*\n)*the last words are complete\n$");
}

TEST_F(enders, a_panic_of_an_earlier_run_ends_the_program_at_once_if_its_on_panic_function_waits_for_good) {
  EXPECT_EXIT(
      {
        ::alarm(at_once_seconds);
        on_panic([](panic_info const&) {
          sleep_for(std::chrono::milliseconds(1));
          std::fprintf(stderr, "no M runs this\n");
        });
        panic_of_an_earlier_run_while_a_run_ends();
      },
      ExitedWithCode(2), "panic: boom\n");
}

TEST_F(enders, S20_an_on_panic_function_of_an_earlier_run_is_not_cut_off_by_a_deadlock) {
  EXPECT_EXIT(
      {
        on_panic([](panic_info const&) {
          last_words_begin = true;
          static_cast<void>(spin_until([] { return false; }, longer_than_a_run_ns));
          std::fprintf(stderr, "the last words are complete\n");
        });
        auto& earlier = kept<straggler>(left_in::a_loop);
        thrum::run([&] {
          earlier.begins(panics);
          if (!wait_until([] { return last_words_begin.load(); })) ::_exit(8);
          static_cast<void>(chan<int>().recv());
        });
      },
      ExitedWithCode(2), "the last words are complete\n$");
}

TEST_F(enders, S20_an_on_panic_function_of_an_earlier_run_waits_when_the_run_deadlocks) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  EXPECT_EXIT(
      {
        on_panic([](panic_info const&) {
          thread_of_report = rt::os::current_tid();
          sleep_for(std::chrono::milliseconds(1));
        });
        auto const thread_has_ended = [] {
          std::string const place = "/proc/self/task/" + std::to_string(thread_of_report);
          return thread_of_report != 0 && ::access(place.c_str(), F_OK) != 0;
        };
        auto& earlier = kept<straggler>(left_in::a_loop);
        thrum::run([&] {
          earlier.begins(panics);
          if (!wait_until(thread_has_ended)) ::_exit(8);
          static_cast<void>(chan<int>().recv());
        });
      },
      ExitedWithCode(2), "thrum: the on_panic function waits, and no goroutine can wake it\n$");
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
