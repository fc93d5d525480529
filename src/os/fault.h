// Fault injection: every system call of the scheduler asks here first whether it has to fail this time.
//
// It is part of every build, so that a test exercises the very library that users run. While nothing is armed
// the question costs one relaxed load of a word that nobody writes.
//
// Invariants
//   1. One plan per kind of call; a new inject_fault for the same kind replaces the old plan as a whole.
//   2. A plan is one 64-bit word, changed by compare-and-exchange: exactly `skip` calls pass and exactly
//      `times` calls fail, however many threads call, and a signal handler may ask too (there is no lock to
//      be caught holding).
//
// Who may call: inject_fault, count_calls and clear_faults belong to tests; should_fail to src/os.
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
  futex,  // futex_wait; an error that futex_wait does not know ends the program, as it would in earnest
  sigaltstack,
  open,
  read,
  sched_getaffinity,
  futex_wake,
  sigaction,
  mlock,
  getrandom,
  probe,  // readable(): EFAULT makes it answer false, any other error true
  epoll_create,
  epoll_ctl,
  epoll_wait,  // ENOSYS and EPERM stand for a kernel without epoll_pwait2
  eventfd,
  socket,
  accept,
  connect,
  receive,  // whatever reads from a descriptor without waiting
  send,     // and whatever writes
  spawn,
  pidfd,  // any error stands for a kernel without it
  wait_id,
  kill,
  pipe,
  duplicate,
  ring_setup,    // any error stands for a kernel without io_uring
  ring_enter,    // nothing of what was asked for is taken
  ring_answers,  // the kernel has not answered yet
  memory_read,   // EAGAIN: not all of it is in memory
  membarrier,    // any error stands for a kernel without it
  count_
};

inline constexpr std::uint64_t fault_skip_max = (std::uint64_t{1} << 26) - 1;  // more is a test's mistake
inline constexpr std::uint64_t fault_for_good = ~std::uint64_t{0};             // as `times`: until clear_faults

// After `skip` more calls that pass, the next `times` calls fail with errno `error` (1..4095) and without
// reaching the kernel. `times` of 2^26 - 1 or more means for good.
void inject_fault(call c, int error, std::uint64_t skip = 0, std::uint64_t times = 1) noexcept;

// Starts counting without arming anything.
void count_calls() noexcept;

// Disarms everything, sets the counts to zero and stops counting.
void clear_faults() noexcept;

// Calls of this kind since the first inject_fault or count_calls after the last clear_faults, failed ones
// included. Without either nothing is counted: a counter that all threads write would cost more than the
// question.
[[nodiscard]] std::uint64_t calls_made(call c) noexcept;

namespace faults {
extern constinit atomic<bool> watching;
[[nodiscard]] bool next_call_fails(call c, int& error) noexcept;
}  // namespace faults

// Asked exactly once per call, right before it. On true `error` holds the errno to fail with.
[[nodiscard]] inline bool should_fail(call c, int& error) noexcept {
  // relaxed: a test that arms a fault for another thread synchronises with that thread by itself
  if (__builtin_expect(!faults::watching.load(relaxed), 1)) return false;
  return faults::next_call_fails(c, error);
}

}  // namespace thrum::rt::os
