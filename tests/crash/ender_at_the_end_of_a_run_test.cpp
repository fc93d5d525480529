// The last words of a program that crashes (core/ender.h) while a run ends, or on a goroutine that an earlier run has
// left behind.
#include "core/current.h"
#include "core/ender.h"
#include "core/sched.h"
#include "crash/enders.h"
#include "os/thread.h"
#include "support/kept.h"
#include "support/straggler.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace thrum::test {
namespace {

using testing::ExitedWithCode;

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

}  // namespace
}  // namespace thrum::test
