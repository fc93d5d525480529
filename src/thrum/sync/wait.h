// The slow path that every primitive shares: wait in the bucket of an address, or take the waiters out of it.
//
// The pattern (T14):
//  - The waiting side locks the object's bucket, decides by the object's state and changes it if need be. Then it
//    enters the queue and parks, and the commit step releases the bucket.
//  - The releasing side locks the same bucket, changes the state, takes the waiters out, releases the bucket and
//    readies the waiters. It does not touch the object after it has released the bucket.
#pragma once

#include "core/current.h"
#include "core/left_behind.h"
#include "core/sched.h"
#include "core/wait_table.h"
#include "sched/park.h"
#include "sched/records.h"
#include "sys/foreign.h"
#include "wait/release_all.h"
#include "wait/timed_wait.h"

#include <cstdint>
#include <limits>

namespace thrum::rt {

[[noreturn]] void throw_not_a_goroutine(char const* what);

// Returns the M of the calling goroutine or thread, with the mark set. Throws std::logic_error while no run is alive.
[[nodiscard, gnu::always_inline]] inline M& enter_to_wait(char const* what) {
  M* const m = callers_m();
  if (m == nullptr) [[unlikely]]
    throw_not_a_goroutine(what);
  enter_runtime(*m);
  return *m;
}

// Does not return on a goroutine that its run has left behind. Such a goroutine must not write into objects that
// goroutines of a later run use, because it would do so under the locks of the earlier run's wait table.
void sleep_unless_exiting(M& m) noexcept;
[[gnu::always_inline]] inline void sleep_if_left_behind(M& m) noexcept {
  if (m.sched.end.goroutines_are_left_behind()) [[unlikely]]
    sleep_unless_exiting(m);
}

// Returns a sudog for the current goroutine. If there is no memory for one, leaves the runtime and throws
// std::bad_alloc. Does not return on a goroutine whose run is over, so it is called before the object's state is
// changed.
[[nodiscard]] sudog& prepare_to_wait(M& m);

// Gives the sudog back, and leaves the runtime. After a wait that failed for want of memory it throws std::bad_alloc.
void end_wait(M& m, sudog& waiter, wait_outcome how = wait_outcome::woken);

inline constexpr std::int64_t no_deadline = std::numeric_limits<std::int64_t>::max();

// Parks in the bucket, which is locked. `woken`: a waker has taken the waiter out, and the bucket is unlocked.
// Otherwise the time was over, or there was no memory for the timer: the waiter is out, the bucket is locked, and the
// caller has to correct the object's state.
[[nodiscard]] timed_wait wait_in(M& m, wait_bucket& bucket, sudog& waiter, void const* address, wait_reason reason,
                                 queue_end where, std::int64_t deadline_ns) noexcept;
// The same for a waiter that already stands there.
[[nodiscard]] timed_wait wait_there(M& m, wait_bucket& bucket, sudog& waiter, wait_reason reason,
                                    std::int64_t deadline_ns) noexcept;

// Takes all waiters of the address out of the bucket, which is locked. For queues that are known to be short.
[[nodiscard]] g_list take_all(wait_bucket& bucket, void const* address) noexcept;

// Returns the M on which goroutines that wait in the run `epoch` can be woken, with the mark set. Returns nullptr if
// that run is over, because what its waiters left in the object's state then means nothing.
//
// A goroutine that an earlier run has left behind wakes goroutines of a later run as a foreign thread does. Otherwise
// an object that it has released would have waiters and no holder that wakes them. But it never waits in a later run.
//
// Does not return on a goroutine of the run `epoch` itself if that run is coming to its end, because the goroutines
// that it would wake do not go on either.
[[nodiscard, gnu::always_inline]] inline M* enter_to_wake(std::uint32_t epoch) noexcept {
  M* const m = current_m();
  // If a foreign thread's seat is over, its run's memory may be gone. So m.sched is not read on a foreign thread.
  bool const is_of_that_run = m != nullptr && m->current != nullptr && !m->is_foreign && m->sched.epoch == epoch;
  if (!is_of_that_run) [[unlikely]]
    return enter_from_outside(epoch);
  enter_runtime(*m);
  sleep_if_left_behind(*m);
  return m;
}

// Runs step(bucket, woken) under the lock of the address's bucket in the run `epoch`, and wakes the goroutines that
// step has put into `woken`. Returns false, without calling step, if that run is over. The object may be gone on
// return. `site` is that of ready().
template <class Step>
[[nodiscard]] bool wake_in_bucket(std::uint32_t epoch, void const* address, Step step,
                                  std::uintptr_t site = 0) noexcept {
  M* const m = enter_to_wake(epoch);
  if (m == nullptr) return false;
  wait_bucket& bucket = m->sched.waiters.bucket_of(address);
  g_list woken;
  bucket.acquire();
  step(bucket, woken);
  bucket.release();
  ready_all(*m, woken, site);
  leave_runtime(*m);
  return true;
}

// Runs decide() under the bucket's lock. If decide() returns true, waits there until released; if false, returns at
// once. If the deadline comes first and no other goroutine waits, gave_up() runs under the lock. Returns false if the
// deadline came first. The mark is set on entry and clear on return.
template <class Decide, class GaveUp>
bool wait_if(M& m, void const* address, wait_reason reason, std::int64_t deadline_ns, Decide decide, GaveUp gave_up) {
  sudog& waiter = prepare_to_wait(m);
  wait_bucket& bucket = m.sched.waiters.bucket_of(address);
  timed_wait end{&m, wait_outcome::woken};
  bucket.acquire();
  if (decide()) {
    end = wait_in(m, bucket, waiter, address, reason, queue_end::back, deadline_ns);
    if (end.how != wait_outcome::woken) {
      if (end.stood_there && !bucket.has_waiters(address)) gave_up();
      bucket.release();
    }
  } else {
    bucket.release();
  }
  end_wait(*end.m, waiter, end.how);
  return end.how == wait_outcome::woken;
}

template <class Decide>
void wait_if(M& m, void const* address, wait_reason reason, Decide decide) {
  static_cast<void>(wait_if(m, address, reason, no_deadline, decide, [] {}));
}

}  // namespace thrum::rt
