// Waiting in a bucket of the wait table, with a time limit: what every try_..._for is built on.
#pragma once

#include "core/sched.h"
#include "core/wait_table.h"

#include <cstdint>

namespace thrum::rt {

enum class wait_outcome : std::uint8_t {
  woken,      // a waker has taken the waiter out; the bucket is unlocked, as after wait_in
  timed_out,  // the time was over first; the waiter is out, and the bucket is locked
  no_memory,  // there is no memory for the timer; otherwise as timed_out, at once
};

struct timed_wait {
  M* m;  // on which the goroutine runs after the wait
  wait_outcome how;
  // For timed_out and no_memory: whether the waiter was in the bucket. If not, a waker that came too late has taken it
  // out and has updated the object's state, and goroutines that this waker woke may have destroyed the object.
  bool stood_there = true;
};

// Parks in the bucket, which is locked, until a waker takes the waiter out or the monotonic clock shows deadline_ns. If
// no waker came, the bucket is locked on return, so that the caller can correct the object's state. bucket.has_waiters
// says whether other waiters are left.
//
// While the waiter stands there, a waker that dequeues it (wait_bucket::dequeue) must win its race, and passes it over
// otherwise. So dequeue may return nullptr although has_waiters was true. No wake-up is lost to a waiter whose time is
// over:
//  - The timer and the wakers compete for one race, which begins before the bucket is unlocked.
//  - A waker that loses the race gives what it has to the next waiter.
//  - If a waker wins the race, the goroutine is told of that waker, however late the goroutine runs.
//  - A waiter for which there is no memory never began the race. It holds the bucket's lock, and leaves the queue under
//    it.
[[nodiscard]] timed_wait wait_in_until(M& m, wait_bucket& bucket, sudog& waiter, void const* address,
                                       wait_reason reason, queue_end where, std::int64_t deadline_ns) noexcept;

// The same for a waiter that already stands in the bucket.
[[nodiscard]] timed_wait wait_there_until(M& m, wait_bucket& bucket, sudog& waiter, wait_reason reason,
                                          std::int64_t deadline_ns) noexcept;

}  // namespace thrum::rt
