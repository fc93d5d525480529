// What sysmon saw at its last look: at a P (S03), and at the thread of an M without a P. Read and written by sysmon
// only.
#pragma once

#include "core/entry.h"
#include "os/pause_signal.h"
#include "os/thread_state.h"

#include <cstdint>

namespace thrum::rt {

struct sightings {
  // see sys/put_off_watch.cpp
  struct put_off_wake_ups {
    entry_bits next = 0;  // the entry in runnext
    std::uint64_t runs = 0;
    std::uint64_t put_off = 0;
    bool queue_waits = false;              // a goroutine waited in the run queue
    std::uint32_t queue_taken = 0;         // run_queue::taken
    std::uint32_t at_once = 0;             // the value that P::wakes_at_once was set to at the last mistake
    std::uint64_t readies_at_mistake = 0;  // the number of readies at that time
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
    std::int64_t ask_ns = 0;     // when it is to be asked to pause, for the first or the next time
    std::int64_t asked_ns = 0;   // when it was last asked
    std::int64_t cpu_ns = -1;    // the CPU time of its thread, when it was last read
    std::int64_t cpu_at_ns = 0;  // when that was
    // The same over a longer time, for kernels where only the CPU time shows what the thread does.
    std::int64_t window_ns = 0;
    std::int64_t window_at_ns = 0;
    os::thread_state slept;            // the call in which it slept at the last look
    int asked = 0;                     // how many times it was asked
    int refused = 0;                   // how many times it was not asked because the look at its thread was too old
    std::int64_t again_ns = 0;         // how long after a request the next one follows
    bool spare_was_asked_for = false;  // in this slice sysmon has called ensure_spare_thread
    bool is_kept = false;              // its thread sleeps, and at the limit of threads no other thread could use the P
    os::thread_watch thread;
    os::pause_timer timer;
    bool asked_by_timer = false;           // the last request was a timer, not a signal from sysmon
    bool timer_failed = false;             // in this slice the timer could not be set
    std::uint32_t answers_seen = 0;        // pause_request::answers when the timer was set
    std::int64_t cpu_when_asked_ns = 0;    // the CPU time of the thread when the timer was set
    std::uint32_t answers_when_asked = 0;  // pause_request::answers at the last request, by whatever means
  } slice;
};

// A thread that runs user code without a P: see sys/without_p.h, which alone uses it.
class seen_without_p {
 private:
  friend class without_p_watch;

  // It has a P, or is in the runtime.
  void forget() noexcept {
    cpu_ns_ = -1;
    ran_ = false;
    asked_ = 0;
    stuck_since_ns_ = 0;
  }

  std::int64_t cpu_ns_ = -1;         // its CPU time at the last look
  std::int64_t cpu_at_ns_ = 0;       // the time of that look
  bool ran_ = false;                 // it was on a CPU at that look, or waited for one
  int asked_ = 0;                    // how many times it was asked_ to queue for a P
  std::int64_t stuck_since_ns_ = 0;  // since when it has slept while residents are runnable; 0: it does not
};

}  // namespace thrum::rt
