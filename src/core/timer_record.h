// timer_record: what can be cancelled: a time limit, a timer, a ticker, a function to be called later (S27).
//
// 64 bytes from a store of the process that is never unmapped: a global timer may outlive its run, and an entry in a heap
// may outlive the timer that it was made for (lazy deletion, core/p_timers.h).
//
// Invariants:
//  1. Setting and firing happen under `lock`, and fire() runs under it: when stop() has returned, nothing fires any more.
//  2. `in` is the heap that holds the record's one valid entry, at `queued_ns` <= when_ns. It is set under `lock` and that
//     heap's lock, and cleared under that heap's lock: so it is either read under the heap's lock, or as a hint which heap
//     to lock (clearing releases, the hint acquires: who finds it cleared may write queued_ns). Any other entry that names
//     the record is dead.
//  3. Armed and in no heap: whoever took the entry out holds it in his hands, and is about to lock the record and look.
//  4. One reference for the owner, one for each entry. The last one gives the record back.
#pragma once

#include "base/atomic.h"
#include "core/timer_heap.h"
#include "os/lock.h"

#include <cstdint>

namespace thrum::rt {

struct M;
class p_timers;

// On g0, on an M with a P, under the record's lock, which ranks below channels, buckets and queues. May ready goroutines.
using timer_function = void (*)(timer_record& fired, M& m, std::int64_t due_ns) noexcept;

struct alignas(cache_line_bytes) timer_record {
  os::lock lock{lock_rank::timer_record};
  atomic<std::uint32_t> references{0};

  // under lock
  std::uint32_t armed_in = 0;  // the run (Sched::epoch) in which it is armed; 0: idle
  std::int64_t when_ns = 0;
  std::int64_t period_ns = 0;  // 0: once
  timer_function fire = nullptr;
  void* argument = nullptr;  // the owner's; in the store: the next free record

  // see invariant 2
  atomic<p_timers*> in{nullptr};
  std::int64_t queued_ns = 0;
};

#if !THRUM_DEBUG_CHECKS
static_assert(sizeof(timer_record) == cache_line_bytes, "a million timers: one cache line each");
#endif

// An idle record with the owner's reference; nullptr when no memory can be had. Both may be called with any lock held but
// those of rank leaf.
[[nodiscard]] timer_record* take_timer_record(timer_function fire, void* argument) noexcept;
void drop_reference(timer_record& r) noexcept;

}  // namespace thrum::rt
