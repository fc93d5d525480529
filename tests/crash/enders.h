// Goroutines that crash while another one ends the program (core/ender.h). The suite's tests stand in several files.
#pragma once

#include "base/platform.h"
#include "crash/crasher.h"
#include "os/thread.h"
#include "os/thread_state.h"
#include "support/child_test.h"
#include "support/goroutines.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace thrum::test {

class enders : public child_test {};

// Less than the time for which threads wait for the ender, and far more than the end of a program takes.
constexpr unsigned at_once_seconds = rt::with_asan || rt::with_tsan ? 30 : 10;

inline std::atomic<bool> last_words_begin{false};
inline std::atomic<int> thread_of_report{0};
inline std::atomic<int> second_thread{0};

// Runs both functions on goroutines. The second one begins when the last words of the first one have begun.
inline void run_both(void (*first)(), void (*second)()) {
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

inline bool second_thread_sleeps() {
  int const tid = second_thread;
  return tid != 0 && rt::os::thread_watch().look(tid).waits_for_a_lock();
}
inline bool a_panic_is_parked() { return waiting_for(rt::wait_reason::none) != 0; }

// The last words of the first goroutine. They go on until the second one has crashed and waits for the end.
inline void last_words_until(bool (*second_waits)()) {
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
inline void speak_until_a_thread_sleeps() { last_words_until(second_thread_sleeps); }
inline void speak_until_a_panic_is_parked() { last_words_until(a_panic_is_parked); }

// Blocks all signals of the calling thread, so that the goroutine is not stopped when its run ends.
inline void block_all_signals() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

[[gnu::noinline]] inline void panics() { throw std::runtime_error("boom"); }
inline void terminates() { std::terminate(); }

inline void faults_second() {
  second_thread = rt::os::current_tid();
  writes_to_nowhere();
}
inline void terminates_second() {
  second_thread = rt::os::current_tid();
  std::terminate();
}
inline void faults_on_a_thread() { std::thread(faults_second).join(); }
inline void terminates_on_a_thread() { std::thread(terminates_second).join(); }

// Makes goroutines that compute and sleep in turn, so that goroutines change threads. Each calls `visit` in each turn.
inline void keep_the_ps_busy(void (*visit)()) {
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

}  // namespace thrum::test
