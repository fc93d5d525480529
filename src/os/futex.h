// Waiting on a word: the only way in which a thread of the runtime sleeps when it has nothing else to wait
// for.
//
// Private futexes: all parties live in this process. Both functions keep errno as it was (they run under the
// feet of user code and in signal handlers), allocate nothing and take no lock: they may be called on a
// goroutine's stack, on g0, in the preemption handler and under the runtime's locks (wake only).
//
// An error that a correct program cannot see (ENOSYS, EINVAL) ends the program with that errno: there is no
// way to go on without sleeping and waking.
#pragma once

#include "base/atomic.h"

#include <cstdint>

namespace thrum::rt::os {

enum class wait_result {
  woken,          // by futex_wake, or for no reason: look at the word again
  value_changed,  // the word did not hold `expected` when the kernel looked
  timed_out,
  interrupted,  // a signal handler ran
};

// Sleeps while `word` holds `expected`, for `timeout_ns` at most by the monotonic clock; negative means
// without limit, 0 only looks. Gives no ordering by itself: the caller reads the word again with acquire.
wait_result futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t timeout_ns = -1) noexcept;

// The same until a moment of the monotonic clock, which must not be negative; one that has passed only looks.
wait_result futex_wait_until(atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t deadline_ns) noexcept;

// Wakes at most `count` sleepers and answers how many there were. Only the address is used, the word is not
// read: it may already be freed or unmapped (see note.h).
int futex_wake(atomic<std::uint32_t>& word, int count) noexcept;

// The calling thread does nothing more, ever, but for its signal handlers.
[[noreturn]] void sleep_for_good() noexcept;

}  // namespace thrum::rt::os
