// Waiting in a bucket of the wait table, with a time limit: what every try_..._for is built on.
#pragma once

#include "core/sched.h"
#include "core/wait_table.h"

#include <cstdint>

namespace thrum::rt {

enum class wait_outcome : std::uint8_t {
  woken,      // a waker has taken the waiter out: the bucket is unlocked, as after wait_in
  timed_out,  // the time was over first: the waiter is out, the bucket is locked again
  no_memory,  // for the timer: as timed_out, at once
};

struct timed_wait {
  M* m;  // where the goroutine is now
  wait_outcome how;
  // timed_out and no_memory: it was still in the bucket. Otherwise a waker that came too late has taken it out, and has seen to the object's
  // state, and others whom he woke may have destroyed the object.
  bool stood_there = true;
};

// Parks in the bucket, which is locked, until a waker takes the waiter out or the monotonic clock shows deadline_ns. When
// nobody came, the bucket is locked on return, so that the object's state can be put right: bucket.has_waiters tells whether
// others are left.
//
// While it stands there, who takes it out by wait_bucket::dequeue must win its race, and passes it over otherwise: dequeue
// may answer nullptr although has_waiters was true. So no wake-up is lost to a waiter whose time is over: the timer and the wakers
// compete for one race, which begins before the bucket is unlocked. A waker that loses it gives what it has to the next waiter, and one
// that wins it is what the goroutine is told of, however late it runs. A waiter for which there is no memory never began the race: it
// still held the bucket's lock, and leaves the queue under it.
[[nodiscard]] timed_wait wait_in_until(M& m, wait_bucket& bucket, sudog& waiter, void const* address,
                                       wait_reason reason, queue_end where, std::int64_t deadline_ns) noexcept;

// The same for a waiter that stands in the bucket already.
[[nodiscard]] timed_wait wait_there_until(M& m, wait_bucket& bucket, sudog& waiter, wait_reason reason,
                                          std::int64_t deadline_ns) noexcept;

}  // namespace thrum::rt
