// Goroutines that do not come to the scheduler by themselves.
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

// TSan puts signals off until the next call that it knows: a loop without calls is never interrupted (T15).
#define THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION() \
  if (thrum::rt::with_tsan) GTEST_SKIP() << "ThreadSanitizer defers signals: loops without calls are not preempted"

// At the end of the run: nobody stays asleep in the middle of a malloc that the whole program needs.
#define THRUM_SKIP_IF_LOOPS_ARE_NOT_STOPPED_FOR_GOOD() \
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();               \
  if (!thrum::test::loops_can_be_stopped_for_good()) GTEST_SKIP() << "not beside a malloc of the program's own"

namespace thrum::test {

inline bool loops_can_be_stopped_for_good() {
  rt::os::note_loaded_code();
  return !rt::os::libc_is_in_the_program();
}

// One instruction and a jump; the compiler may not take it away.
[[noreturn]] inline void loop_for_ever() {
  for (;;) asm volatile("");
}

// Stands still while others have the CPU.
inline std::chrono::nanoseconds cpu_time_of_thread() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::nanoseconds(now.tv_sec * 1'000'000'000LL + now.tv_nsec);
}

// Uses a CPU for so long, as seen by the thread itself, without a call of the scheduler.
inline void compute_for(std::chrono::nanoseconds long_) {
  for (auto const until = cpu_time_of_thread() + long_; cpu_time_of_thread() < until;) {
    for (int i = 0; i < 1000; ++i) asm volatile("");
  }
}

// At one P main has its turns beside a loop that calls nothing; else this does not return.
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
