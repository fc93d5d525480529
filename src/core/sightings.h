// What sysmon saw at a P the last time it looked (S03): only sysmon reads and writes it.
#pragma once

#include "core/entry.h"
#include "os/pause_signal.h"
#include "os/thread_state.h"

#include <cstdint>

namespace thrum::rt {

struct sightings {
  // see sys/put_off_watch.cpp
  struct put_off_wake_ups {
    entry_bits next = 0;  // in runnext
    std::uint64_t runs = 0;
    std::uint64_t put_off = 0;
    bool ring_waits = false;               // a goroutine did, in the ring
    std::uint32_t ring_taken = 0;          // run_queue::taken
    std::uint32_t at_once = 0;             // what P::wakes_at_once was set to at the last mistake
    std::uint64_t readies_at_mistake = 0;  // the number of readies then
  } put_off;

  // see sys/sysmon.cpp
  std::uint64_t syscall = 0;  // the number of the call it was in
  std::int64_t syscall_since_ns = 0;
  std::uint32_t tick = 0;
  std::int64_t tick_since_ns = 0;

  // see sys/slices.h
  struct time_slice {
    M* m = nullptr;
    std::uint32_t tick = 0;
    std::int64_t ends_ns = 0;
    std::int64_t ask_ns = 0;     // when it is asked to pause, or asked again
    std::int64_t asked_ns = 0;   // when it was last
    std::int64_t cpu_ns = -1;    // what its thread had used of a CPU when that was looked at last
    std::int64_t cpu_at_ns = 0;  // when
    std::int64_t window_ns = 0;  // the same, for a longer time: where only that tells what the thread does
    std::int64_t window_at_ns = 0;
    os::thread_state slept;     // in which call, at the last look
    int asked = 0;              // so many times
    int refused = 0;            // because the look at its thread was too old
    std::int64_t again_ns = 0;  // how long after that, if it does not
    bool has_heir = false;      // it was seen to that somebody can have the P afterwards
    os::thread_watch thread;
    os::pause_timer timer;
    bool asked_by_timer = false;     // the last time, rather than by a signal of sysmon's
    bool timer_failed = false;       // in this slice: the kernel had none
    std::uint32_t answers_seen = 0;  // M::pauses_answered at that time
    std::int64_t cpu_when_asked_ns = 0;
    std::uint32_t answers_when_asked = 0;  // M::pauses_answered at the last request, by whatever means
  } slice;
};

}  // namespace thrum::rt
