// Goroutines that do not enter the scheduler by themselves.
#pragma once

#include "base/atomic.h"
#include "base/platform.h"
#include "os/loaded_code.h"
#include <thrum/runtime.h>
#include <thrum/time.h>
#include <thrum/wait_group.h>

#include <atomic>
#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

// ThreadSanitizer defers signals until the next call that it intercepts, so a loop without calls is never interrupted
// (T15).
#define THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION() \
  if (thrum::rt::with_tsan) GTEST_SKIP() << "ThreadSanitizer defers signals: loops without calls are not preempted"

// Skips the test if the end of a run cannot stop loops for good. That is so if malloc is linked into the executable,
// because thrum cannot tell then whether a thread is inside malloc and holds a lock that the rest of the program needs.
#define THRUM_SKIP_IF_LOOPS_ARE_NOT_STOPPED_FOR_GOOD() \
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();               \
  if (!thrum::test::loops_can_be_stopped_for_good()) GTEST_SKIP() << "not beside a malloc of the program's own"

namespace thrum::test {

inline bool loops_can_be_stopped_for_good() {
  rt::os::note_loaded_code();
  return !rt::os::libc_is_in_the_program();
}

// A loop of one jump, which the asm keeps the compiler from removing.
[[noreturn]] inline void loop_for_ever() {
  for (;;) asm volatile("");
}

// The CPU time of the calling thread. It does not advance while other threads have the CPU.
inline std::chrono::nanoseconds cpu_time_of_thread() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::nanoseconds(now.tv_sec * 1'000'000'000LL + now.tv_nsec);
}

// Uses the given amount of the thread's CPU time, without a call of the scheduler.
inline void compute_for(std::chrono::nanoseconds long_) {
  for (auto const until = cpu_time_of_thread() + long_; cpu_time_of_thread() < until;) {
    for (int i = 0; i < 1000; ++i) asm volatile("");
  }
}

// Checks, with one P, that the main goroutine gets its turns beside a loop that makes no calls. Otherwise this does not
// return.
inline void sleep_beside_a_loop() {
  std::atomic<bool> stop{false};
  wait_group all;
  all.go([&] {
    while (!stop) rt::cpu_relax();
  });
  for (int i = 0; i < 3; ++i) sleep_for(std::chrono::milliseconds(1));
  stop = true;
  all.wait();
}

inline std::uint64_t preempted(stats const& all) {
  std::uint64_t sum = 0;
  for (proc_stats const& p : all.procs) sum += p.preempted;
  return sum;
}

}  // namespace thrum::test
