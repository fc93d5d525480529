// Time slices, as sysmon sees them from outside (S18, T04).
//
// A P that is at the same schedtick at two looks runs the same goroutine, or one that inherited its slice. As long as nobody
// else wants the P, it may go on. Otherwise:
//  - if its thread sleeps in the kernel, the P is taken at once (sys/unannounced.h). After a slice it is taken even if nobody else wants
//    it, so that sysmon need not look any more;
//  - if it has run for a slice, counted from sysmon's first sight of it, it is asked to pause, again and again until it does:
//    it may be where it must not be stopped (sys/preempt.h).
//
// A signal that comes to a thread inside a system call may end the call with EINTR, even a poll with a time limit of 0, and whatever
// SA_RESTART says. So the first request comes by a timer on the thread's CPU clock (os/pause_signal.h), which never does that. It is set
// half a tick before the slice is over and fires half a tick after that at the latest. A thread that the request met in the C library is
// asked again, by the timer if it was on its way out of a system call of late, else by signals, which come sooner.
//
// Signals are also used where the world is to stop or another thread waits for a look at the P, and where slices are shorter than a tick.
// A timer that does not fire within two ticks of the thread's CPU time is followed by a signal. If timers cannot be set, or 16 in a row do
// not fire, sysmon uses signals alone for 10 s and then tries a timer again.
#pragma once

#include "core/sched.h"
#include "sys/without_p.h"

#include <cstdint>

namespace thrum::rt {

// What a look at something led to, the most important last. `hurry`: somebody stands still until the next look, exactly on time.
enum class verdict : std::uint8_t { nothing, look_again_soon, hurry, acted };

// By those in the queues, or to be looked at.
[[nodiscard]] inline bool is_waited_for(Sched const& s, P const& p) noexcept {
  return !p.queue.looks_empty() || s.global_size.load(relaxed) != 0 || p.attention.load(relaxed) != 0;
}

class slice_watch {
 public:
  explicit slice_watch(Sched& s) noexcept;

  // All Ps.
  [[nodiscard]] verdict look(std::int64_t now_ns) noexcept;

  // Gives back what it has of the system. No signal is sent after this.
  void close() noexcept;

  [[nodiscard]] bool suspects_deadlock() const noexcept { return without_p_.suspects_deadlock(); }

  // When the next look is due; never_ns: any time will do.
  [[nodiscard]] std::int64_t next_look_ns() const noexcept { return next_look_ns_; }

 private:
  using slice = sightings::time_slice;
  [[nodiscard]] verdict look_at(P& p, slice& seen, std::int64_t now_ns) noexcept;
  [[nodiscard]] bool somebody_wants(P const& p, std::int64_t now_ns) const noexcept;
  [[nodiscard]] bool nobody_could_help() const noexcept;
  struct thread_seen {
    os::thread_state state;
    std::int64_t ns;  // when
    bool is_wanted;   // its P
  };
  [[nodiscard]] verdict begin(P const& p, slice& seen, M* m, std::uint32_t tick, std::int64_t now_ns) noexcept;
  [[nodiscard]] verdict look_at_sleeper(P& p, M& m, slice& seen, thread_seen const& at, bool is_missed) noexcept;
  [[nodiscard]] verdict look_at_runner(P& p, M& m, slice& seen, thread_seen const& at, std::int64_t now_ns) noexcept;
  [[nodiscard]] verdict look_at_clock(P& p, M& m, slice& seen, thread_seen const& at, std::int64_t now_ns) noexcept;
  [[nodiscard]] verdict take_from(P& p, M& m, thread_seen const& at, verdict if_awake) noexcept;
  [[nodiscard]] verdict ask(P& p, M& m, slice& seen, thread_seen const& at, std::int64_t now_ns) noexcept;
  [[nodiscard]] bool asks_by_timer(P const& p, M const& m, slice const& seen) const noexcept;
  [[nodiscard]] static bool was_answered(M const& m, slice const& seen) noexcept;
  [[nodiscard]] bool request_is_on_its_way(M const& m, slice& seen, std::int64_t now_ns) noexcept;
  [[nodiscard]] bool set_timer(M const& m, slice& seen, std::int64_t now_ns) noexcept;
  void give_timers_up(std::int64_t now_ns) noexcept;
  [[nodiscard]] std::int64_t asks_from_ns(slice const& seen) const noexcept {
    return seen.ends_ns - (uses_timers_ ? tick_ns_ / 2 : 0);
  }
  [[nodiscard]] bool send(M& m, slice& seen, std::int64_t looked_at_ns) noexcept;
  [[nodiscard]] std::uint32_t tick_to_ask_for(P const& p, slice const& seen, std::int64_t now_ns) const noexcept;
  void look_again_at(std::int64_t when_ns) noexcept;

  Sched& sched_;
  std::int64_t next_look_ns_ = never_ns;
  std::int64_t tick_ns_ = 0;          // the kernel's; 0: slices do not end by timers
  std::int64_t timers_again_ns_ = 0;  // until then signals are used instead, because timers have failed
  bool uses_timers_ = false;          // at this look
  int timers_without_answer_ = 0;     // in a row
  without_p_watch without_p_;
};

}  // namespace thrum::rt
