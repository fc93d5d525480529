// Waiting on a word (futex). A thread of the runtime sleeps in this way unless it waits for something else, such as a
// descriptor.
//
// The futexes are private to the process. The functions leave errno unchanged, because user code and signal handlers
// run above them on the same thread. They allocate nothing and take no lock, so they may be called on a goroutine's
// stack, on g0 and in the preemption handler. futex_wake may also be called under the runtime's locks.
//
// An error that a correct program cannot cause (ENOSYS, EINVAL) ends the program with a message that contains the
// errno, because the runtime cannot continue without sleeping and waking.
#pragma once

#include "base/atomic.h"

#include <cstdint>

namespace thrum::rt::os {

enum class wait_result {
  woken,          // by futex_wake, or spuriously, so the caller has to look at the word
  value_changed,  // the word did not hold `expected` when the kernel looked
  timed_out,
  interrupted,  // a signal handler ran
};

// Sleeps while `word` holds `expected`, for at most `timeout_ns` by the monotonic clock. A negative timeout means no
// limit, and 0 does not sleep. The call gives no memory ordering, so the caller has to read the word with acquire
// afterwards.
wait_result futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t timeout_ns = -1) noexcept;

// The same until a point in time of the monotonic clock, which must not be negative. It does not sleep if that time has
// passed.
wait_result futex_wait_until(atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t deadline_ns) noexcept;

// Wakes at most `count` sleepers and returns how many it has woken. It uses only the address and does not read the
// word, so the word may be freed or unmapped (see note.h).
int futex_wake(atomic<std::uint32_t>& word, int count) noexcept;

// Makes the calling thread sleep until the process ends. Only its signal handlers can run.
[[noreturn]] void sleep_for_good() noexcept;

}  // namespace thrum::rt::os
