// Part of sysmon: watches whether the program stands still because it may not have more threads (S21).
//
// A thread that needs an M beyond the limit of threads ends the program at once, as in Go (starting_m_locked), unless
// threads that are expected back can use the P (may_start_m_locked). Such a thread may sleep in the kernel for good, in
// a call that was not announced. So sysmon ends the program with the same report if the program stands still:
//  1. A goroutine is runnable, or a timer is due.
//  2. A P is idle, or its thread sleeps in the kernel and keeps it because no other thread could use it
//     (take_p_outcome::no_thread).
//  3. No M rests, is being made or waits for a P, none may be made, and none is on its way to look for work.
//  4. No goroutine has begun a turn on any P.
//
// All four must hold at each look for settings::limit_patience_ns. One look counts for at most two of the times between
// looks, so time that passes while the whole process is stopped or suspended does not count.
//
// A goroutine that is ending the program (core/ender.h) is not cut off while it has a thread. If it waits, there may be
// no thread on which it could go on, so sysmon ends the program in its place.
//
// A P whose thread computes is neither idle nor kept. So a program in which all Ps compute is never ended. If one P
// computes and another one is idle, the program may be ended: what waits needs one thread more than there may be.
#pragma once

#include "core/sched.h"

#include <cstdint>

namespace thrum::rt {

class limit_watch {
 public:
  explicit limit_watch(Sched& s) noexcept : sched_(s) {}

  // Runs on sysmon's thread, when slice_watch has looked at the Ps.
  void look(std::int64_t now_ns) noexcept;

  // Under sched.lock, on sysmon's thread: whether a goroutine waits for a thread, so that sysmon has to look again.
  [[nodiscard]] bool stands_still_locked(std::int64_t now_ns) const noexcept;

 private:
  [[nodiscard]] bool may_stand_still(std::int64_t now_ns) const noexcept;
  [[nodiscard]] std::uint64_t turns_begun() const noexcept;
  [[nodiscard]] bool stands_still(std::int64_t now_ns) const noexcept;
  void end_program_if_work_waits(std::int64_t now_ns) const noexcept;
  void report_locked() const noexcept;

  Sched& sched_;
  std::int64_t looked_at_ns_ = 0;
  std::int64_t stood_still_ns_ = 0;  // for how long the program has stood still at all looks
  std::uint64_t turns_seen_ = 0;
};

}  // namespace thrum::rt
