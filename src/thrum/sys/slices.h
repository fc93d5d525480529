// Time slices, as sysmon sees them from outside (S18, T04).
//
// A P that is at the same schedtick at two looks runs the same goroutine, or one that inherited its slice.
//  - If its thread computes, and nothing else wants the P, the goroutine goes on.
//  - If its thread computes, something else wants the P, and the goroutine has run for a slice, counted from sysmon's
//    first sight of it, sysmon asks it to pause. sysmon repeats that until the goroutine does, because it may be at a
//    place where it must not be stopped (sys/preempt.h).
//  - If its thread sleeps in the kernel at two looks, and something else wants the P, or no P is idle and no M
//    searches, sysmon takes the P (sys/unannounced.h). After a slice it takes the P in any case, so that sysmon need
//    not look at it any more.
//
// A signal that comes to a thread inside a system call may end the call with EINTR, even a poll with a time limit of 0,
// and whatever SA_RESTART says. So the first request comes from a timer on the thread's CPU clock (os/pause_signal.h).
// Its signal comes when the thread returns to user code, so it ends no call. Older kernels send it from the kernel's
// tick, also inside a call, so sysmon asks a thread in either way only after it has seen the thread compute
// (look_at_runner). sysmon sets the timer five eighths of a kernel tick before the slice is over (tick_eighths_early),
// and the timer fires at the next tick. If the request found the thread in the C library, sysmon asks once more. It
// uses the timer if the thread was recently found on its way out of a system call, and otherwise signals, which arrive
// sooner.
//
// sysmon also uses signals if the world is to stop, if another thread waits for a look at the P, and if slices are
// shorter than a kernel tick. If a timer does not fire within two kernel ticks of the thread's CPU time, sysmon sends a
// signal. If timers cannot be set, or 16 in a row do not fire, sysmon uses signals alone for 10 s and then tries a
// timer.
#pragma once

#include "base/heuristics.h"
#include "core/sched.h"
#include "sys/without_p.h"

#include <cstdint>

namespace thrum::rt {

// What a look led to, the most important verdict last. `hurry`: a thread stands still until the next look, which has to
// come exactly on time.
enum class verdict : std::uint8_t { nothing, look_again_soon, hurry, acted };

// Whether goroutines in the queues wait for p, or its owner is asked to attend to something.
[[nodiscard]] inline bool is_waited_for(Sched const& s, P const& p) noexcept {
  return !p.queue.looks_empty() || s.global_size.load(relaxed) != 0 || p.attention.load(relaxed) != 0;
}

class slice_watch {
 public:
  slice_watch(Sched& s, report_text& reports) noexcept;

  // Looks at all Ps.
  [[nodiscard]] verdict look(std::int64_t now_ns) noexcept;

  // Gives its timers and descriptors back to the system. No signal is sent after this.
  void close() noexcept;

  [[nodiscard]] bool suspects_deadlock() const noexcept { return without_p_.suspects_deadlock(); }

  // When the next look is due. never_ns: there is no particular time.
  [[nodiscard]] std::int64_t next_look_ns() const noexcept { return next_look_ns_; }

 private:
  using slice = sightings::time_slice;
  [[nodiscard]] verdict look_at(P& p, slice& seen, std::int64_t now_ns) noexcept;
  [[nodiscard]] bool p_is_wanted(P const& p, std::int64_t now_ns) const noexcept;
  [[nodiscard]] bool no_thread_could_help() const noexcept;
  struct thread_seen {
    os::thread_state state;
    std::int64_t ns;  // when the thread was looked at
    bool is_wanted;   // whether its P is wanted
  };
  [[nodiscard]] verdict begin(P const& p, slice& seen, M* m, std::uint32_t tick, std::int64_t now_ns) noexcept;
  [[nodiscard]] verdict look_at_sleeper(P& p, M& m, slice& seen, thread_seen const& at, bool is_worth_taking) noexcept;
  [[nodiscard]] verdict look_at_runner(P& p, M& m, slice& seen, thread_seen const& at, std::int64_t now_ns) noexcept;
  [[nodiscard]] verdict look_at_clock(P& p, M& m, slice& seen, thread_seen const& at, std::int64_t now_ns) noexcept;
  [[nodiscard]] verdict take_from(P& p, M& m, thread_seen const& at, verdict if_awake) noexcept;
  [[nodiscard]] verdict ask(P& p, M& m, slice& seen, thread_seen const& at, std::int64_t now_ns) noexcept;
  [[nodiscard]] bool asks_by_timer(P const& p, M const& m, slice const& seen) const noexcept;
  [[nodiscard]] static bool was_answered(M const& m, slice const& seen) noexcept;
  [[nodiscard]] bool await_timer(M const& m, slice& seen, std::int64_t now_ns) noexcept;
  [[nodiscard]] bool set_timer(M const& m, slice& seen, std::int64_t now_ns) noexcept;
  void give_timers_up(std::int64_t now_ns) noexcept;
  [[nodiscard]] std::int64_t asks_from_ns(slice const& seen) const noexcept {
    return seen.ends_ns - (uses_timers_ ? tick_ns_ / 8 * asking::tick_eighths_early : 0);
  }
  [[nodiscard]] bool send(M& m, slice& seen, std::int64_t looked_at_ns) noexcept;
  [[nodiscard]] std::uint32_t tick_to_ask_for(P const& p, slice const& seen, std::int64_t now_ns) const noexcept;
  void look_again_at(std::int64_t when_ns) noexcept;

  Sched& sched_;
  std::int64_t next_look_ns_ = never_ns;
  std::int64_t tick_ns_ = 0;          // the length of the kernel's tick; 0: slices do not end by timers
  std::int64_t timers_again_ns_ = 0;  // until then signals are used instead of timers, because timers have failed
  bool uses_timers_ = false;          // whether timers are used at this look
  int timers_without_answer_ = 0;     // the number of timers in a row that did not fire
  without_p_watch without_p_;
};

}  // namespace thrum::rt
