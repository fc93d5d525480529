// Timers on the CPU clocks of threads that ask for samples of what the threads compute.
//
// A timer counts only while its thread computes, and its signal comes when the thread returns to user code
// (os/pause_signal.h says more). So a thread that sleeps in the kernel gets no signal (T04). The signal has the number
// of the one that asks threads to pause, and a tag of its own. That has three advantages over SIGPROF: a profiler of
// the program may use SIGPROF, a late signal ends no program, and a request to pause never interrupts the handler.
//
// No locks, no allocation.
#pragma once

#include <cstddef>
#include <cstdint>

#include <signal.h>

namespace thrum::rt::os {

// `which` is the number of the timer, and `count` says how many periods it stands for. Runs in a signal handler.
using sample_handler = void (*)(std::size_t which, std::uint32_t count, void const* ucontext) noexcept;

inline constexpr std::size_t sample_timers_max = 4096;

// Whether faults of memory come to thrum's handler, so that they are caught in a guarded call. A system call.
[[nodiscard]] bool faults_are_caught() noexcept;

// Whether a late signal of this number may end the program, when no handler is installed any more.
[[nodiscard]] bool may_end_program(int signal) noexcept;

// The handler is never removed, because a signal may come late.
void set_sample_handler(sample_handler handler) noexcept;

// Called first in the handler of the signal. Returns false if no timer of samples has sent it.
[[nodiscard]] bool answer_sample_timer(siginfo_t const& information, void const* ucontext) noexcept;

struct sample_period {
  std::int64_t first_ns;
  std::int64_t every_ns;
};

class sample_timer {
 public:
  sample_timer() noexcept = default;
  ~sample_timer() { stop(); }
  sample_timer(sample_timer const&) = delete;
  sample_timer& operator=(sample_timer const&) = delete;

  // Returns 0 or the errno. EAGAIN: the user may have no more pending signals and timers (ulimit -i).
  [[nodiscard]] int start(int signal, int tid, std::size_t which, sample_period period) noexcept;
  // A signal that was sent may still arrive.
  void stop() noexcept;
  // The timers of a process do not exist in its child of fork.
  void forget() noexcept { timer_ = -1; }

 private:
  int timer_ = -1;
};

}  // namespace thrum::rt::os
