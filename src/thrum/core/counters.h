// What a P has done, for read_stats and the tests. Written by the P's owner only and read by any thread, with plain
// loads and stores of untorn words and without read-modify-writes. The counters stay with the P when its M changes.
#pragma once

#include "base/atomic.h"
#include "core/status.h"

#include <array>
#include <cstdint>

namespace thrum::rt {

using counter = atomic<std::uint64_t>;

struct p_counters {
  counter created;          // goroutines made here
  counter ended;            // goroutines that ended here
  counter switches_direct;  // straight from one goroutine to the next
  counter switches_via_g0;  // through the scheduling stack
  counter stack_handovers;  // an ended goroutine's stack was given to the next one without any switch
  counter joined_in_place;  // children run on their joiner's stack
  counter readies;
  counter yields;
  counter overflows;        // a full run queue sent half to the global queue
  counter global_takes;     // goroutines taken from the global queue
  counter steals;           // successful steals
  counter stolen;           // goroutines taken by them
  counter wakes;            // idle Ps that this one started
  counter spins;            // searches begun as a spinning M
  counter spinning_ns;      // and how long they took
  counter timers_run;       // sleepers woken and timers fired
  counter syscalls;         // system calls announced here
  counter handed_off;       // of these, with the P given away at once
  counter returns_to_idle;  // returns from a system call that took this P from the idle list
  counter returns_queued;   // goroutines back from a system call that found no P, and were run here later
  counter preempted;        // goroutines paused here in the middle of user code
  counter idle_ns;          // how long this P was idle. Written under sched.lock
  counter polls;            // polls without blocking
  counter put_off;          // put-off wake-ups: for a few events, and to watch a timer that is far off

  // By reason: how many waits began here, how many of those that ended here were measured, and how long these took.
  std::array<counter, wait_reasons> waits;
  std::array<counter, wait_reasons> waits_measured;
  std::array<counter, wait_reasons> waited_ns;

  [[nodiscard]] std::uint64_t parks() const noexcept {
    std::uint64_t sum = 0;
    for (counter const& each : waits) sum += each.load(relaxed);
    return sum;
  }

  // Grows with every goroutine that runs, so two calls show whether the P makes progress. relaxed: it says nothing
  // else.
  [[nodiscard]] std::uint64_t switches() const noexcept {
    return switches_direct.load(relaxed) + switches_via_g0.load(relaxed);
  }
  // The same, including the goroutines that began to run without any switch.
  [[nodiscard]] std::uint64_t runs() const noexcept { return switches() + stack_handovers.load(relaxed); }
};

inline void count(counter& one) noexcept { owner_add(one, std::uint64_t{1}); }
inline void count(counter& one, std::uint64_t delta) noexcept { owner_add(one, delta); }

}  // namespace thrum::rt
