// Fault injection: before each system call, os/ asks here whether the call has to fail.
//
// It is part of every build, so that tests run the same library as users. While no fault is set, the question costs one
// relaxed load of a word that is not written.
//
// Invariants
//   1. There is one plan per kind of call. A new inject_fault for the same kind replaces the whole old plan.
//   2. A plan is one 64-bit word that is changed by compare-and-swap. So exactly `skip` calls pass and exactly `times`
//      calls fail, however many threads make calls. There is no lock, so a signal handler may ask too.
//
// inject_fault, count_calls and clear_faults are for tests. should_fail is for os/.
#pragma once

#include "base/atomic.h"

#include <cstdint>

namespace thrum::rt::os {

enum class call : std::uint8_t {
  mmap,
  munmap,
  madvise,
  mprotect,
  thread_create,
  futex,  // futex_wait; an error that futex_wait does not expect ends the program, as a real one would
  sigaltstack,
  open,
  read,
  sched_getaffinity,
  futex_wake,
  sigaction,
  mlock,
  getrandom,
  probe,  // readable(): it returns false for EFAULT and true for any other error
  epoll_create,
  epoll_ctl,
  epoll_wait,  // ENOSYS and EPERM stand for a kernel without epoll_pwait2
  eventfd,
  socket,
  accept,
  connect,
  receive,  // reads from sockets, pipes and files on behalf of goroutines
  send,     // writes to sockets, pipes and files on behalf of goroutines
  spawn,
  pidfd,  // any error stands for a kernel without pidfd_open
  wait_id,
  kill,
  pipe,
  duplicate,
  uring_setup,    // any error stands for a kernel without io_uring
  uring_enter,    // the kernel takes none of the questions
  uring_answers,  // the kernel has no answers
  memory_read,    // EAGAIN: the bytes are not in memory
  membarrier,     // any error stands for a kernel without membarrier
  timer,          // timers of CPU profiles
  count_
};

inline constexpr std::uint64_t fault_skip_max = (std::uint64_t{1} << 26) - 1;  // a larger `skip` fails a check
inline constexpr std::uint64_t fault_for_good = ~std::uint64_t{0};             // for `times`: until clear_faults

// The next `skip` calls pass, and the `times` calls after them fail with errno `error` (1..4095) without reaching the
// kernel. If `times` is 2^26 - 1 or more, all later calls fail until clear_faults.
void inject_fault(call c, int error, std::uint64_t skip = 0, std::uint64_t times = 1) noexcept;

// Starts counting calls without setting a fault.
void count_calls() noexcept;

// Removes all faults, sets the counts to zero and stops counting.
void clear_faults() noexcept;

// The number of calls of this kind, including failed ones, since the first inject_fault or count_calls after the last
// clear_faults. Calls are not counted otherwise, because a counter that all threads write would cost more than the
// question.
[[nodiscard]] std::uint64_t calls_made(call c) noexcept;

namespace faults {
extern constinit atomic<bool> watching;
[[nodiscard]] bool next_call_fails(call c, int& error) noexcept;
}  // namespace faults

// Has to be called exactly once per system call, just before it. If it returns true, the call must fail with `error`.
[[nodiscard]] inline bool should_fail(call c, int& error) noexcept {
  // relaxed: a test that sets a fault for another thread synchronises with that thread itself
  if (__builtin_expect(!faults::watching.load(relaxed), 1)) return false;
  return faults::next_call_fails(c, error);
}

}  // namespace thrum::rt::os
