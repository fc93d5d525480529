// Whether a thread of this process is on a CPU, or wants one, or sleeps in the kernel (T04).
//
// The kernel tells it in /proc/self/task/TID/syscall: "running", or the call in which it sleeps, and where it was made. A
// look costs a third of a microsecond on a descriptor that is kept open. Nothing is allocated.
#pragma once

#include <cstdint>

#include <time.h>

namespace thrum::rt::os {

enum class thread_activity : std::uint8_t {
  runs,
  sleeps_in_call,
  sleeps_otherwise,  // a page fault, a signal stop
  unknown,           // the file cannot be had: no /proc, no permission, no descriptor, the thread is gone
};

struct thread_state {
  thread_activity activity = thread_activity::unknown;
  // of one that sleeps in a call
  long call = -1;
  std::uintptr_t stack_pointer = 0;
  std::uintptr_t program_counter = 0;

  bool operator==(thread_state const&) const noexcept = default;
  [[nodiscard]] bool waits_for_a_lock() const noexcept;  // or for anything else that is made of a futex
};

// The clock that runs while the thread has a CPU.
[[nodiscard]] clockid_t cpu_clock_of(int tid) noexcept;

// What a thread has used of a CPU so far; -1: it is gone.
[[nodiscard]] std::int64_t thread_cpu_ns(int tid) noexcept;

// Whether it has used so much since `seen_ns` was noted, here; -1: it has not been, so nobody can tell.
[[nodiscard]] bool has_computed(int tid, std::int64_t at_least_ns, std::int64_t& seen_ns) noexcept;

// Keeps the descriptor of the thread it looked at last.
class thread_watch {
 public:
  thread_watch() noexcept = default;
  ~thread_watch() { close(); }
  thread_watch(thread_watch const&) = delete;
  thread_watch& operator=(thread_watch const&) = delete;

  [[nodiscard]] thread_state look(int tid) noexcept;
  void close() noexcept;

 private:
  int tid_ = 0;
  int descriptor_ = -1;
};

}  // namespace thrum::rt::os
