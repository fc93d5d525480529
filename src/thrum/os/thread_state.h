// Whether a thread of this process runs, or is ready to run, or sleeps in the kernel (T04).
//
// The kernel shows that in /proc/self/task/TID/syscall. The text is "running", or the system call in which the thread
// sleeps and where it was made. Reading it costs a third of a microsecond with a descriptor that is kept open. Nothing
// is allocated, and no lock is taken.
//
// Before the kernel says that a thread sleeps, it takes the lock of the run queue under which the thread went to sleep,
// and under which it will be woken (task_current_syscall, wait_task_inactive). So this is a memory barrier between the
// thread and the caller: the caller sees all that the thread did before it went to sleep, and the thread will see all
// that the caller did before it looked.
#pragma once

#include <cstdint>

#include <time.h>

namespace thrum::rt::os {

enum class thread_activity : std::uint8_t {
  runs,              // on a CPU, or ready to run
  sleeps_in_call,    // in a system call
  sleeps_otherwise,  // in a page fault or stopped by a signal
  unknown,           // the file cannot be read: no /proc, no permission, no descriptor, or the thread has ended
};

struct thread_state {
  thread_activity activity = thread_activity::unknown;
  // the following is set for sleeps_in_call
  long call = -1;
  std::uintptr_t stack_pointer = 0;
  std::uintptr_t program_counter = 0;

  bool operator==(thread_state const&) const noexcept = default;
  [[nodiscard]] bool sleeps() const noexcept {
    return activity == thread_activity::sleeps_in_call || activity == thread_activity::sleeps_otherwise;
  }
  [[nodiscard]] bool waits_for_a_lock() const noexcept;  // or for anything else that is built on a futex
};

// The clock that measures the CPU time of the thread.
[[nodiscard]] clockid_t cpu_clock_of(int tid) noexcept;

// The CPU time that the thread has used, or -1 if it has ended or `tid` is 0, which stands for no thread.
[[nodiscard]] std::int64_t thread_cpu_ns(int tid) noexcept;

// Whether the thread has used at least `at_least_ns` of CPU time since the last call, and stores its CPU time in
// `seen_ns` for the next call. If `seen_ns` is -1, there was no last call and the result is false.
[[nodiscard]] bool has_computed(int tid, std::int64_t at_least_ns, std::int64_t& seen_ns) noexcept;

// Looks at threads, and keeps the descriptor of the thread that it looked at last.
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
