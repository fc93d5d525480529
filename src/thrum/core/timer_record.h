// timer_record: a timer that can be cancelled, such as a time limit, a timer, a ticker, or a function to be called
// later (S27).
//
// Records have 64 bytes and come from a store of the process that is never unmapped, because a global timer may outlive
// its run, and an entry in a heap may outlive the timer that it was made for (lazy deletion, core/p_timers.h).
//
// Invariants:
//  1. Setting and firing happen under `lock`, and fire() runs under it. So after stop() has returned, the timer does
//     not fire.
//  2. `in` is the heap that holds the record's one valid entry, at `queued_ns` <= when_ns. It is set under `lock` and
//     that heap's lock, and cleared under that heap's lock. So a thread reads it under the heap's lock, or only as a
//     hint which heap to lock. Clearing it is a release and reading the hint is an acquire, so a thread that finds it
//     cleared may write queued_ns. Any other entry that names the record is dead.
//  3. If the record is armed and in no heap, the thread that took its entry out holds the entry, and is about to lock
//     the record and look at it.
//  4. The owner holds one reference, and each entry holds one. Dropping the last reference gives the record back to the
//     store.
#pragma once

#include "base/atomic.h"
#include "core/timer_heap.h"
#include "os/lock.h"

#include <cstdint>

namespace thrum::rt {

struct M;
class p_timers;

// Runs on g0, on an M with a P, under the record's lock, which ranks below channels, buckets and queues. It may ready
// goroutines.
using timer_function = void (*)(timer_record& fired, M& m, std::int64_t due_ns) noexcept;

struct alignas(cache_line_bytes) timer_record {
  os::lock lock{lock_rank::timer_record};
  atomic<std::uint32_t> references{0};

  // under lock
  std::uint32_t armed_in = 0;  // the run (Sched::epoch) in which it is armed; 0: it is not armed
  std::int64_t when_ns = 0;
  std::int64_t period_ns = 0;  // 0: it fires once
  timer_function fire = nullptr;
  void* argument = nullptr;  // the owner's; in the store: the next free record

  // see invariant 2
  atomic<p_timers*> in{nullptr};
  std::int64_t queued_ns = 0;
};

#if !THRUM_DEBUG_CHECKS
static_assert(sizeof(timer_record) == cache_line_bytes, "a million timers: one cache line each");
#endif

// take_timer_record returns an idle record with the owner's reference, or nullptr if there is no memory. Both functions
// may be called with any lock held except those of rank leaf.
[[nodiscard]] timer_record* take_timer_record(timer_function fire, void* argument) noexcept;
void drop_reference(timer_record& r) noexcept;

}  // namespace thrum::rt
