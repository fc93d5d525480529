// What the checks for a deadlock have found (sched/deadlock.h). Everything is under sched.lock, except `is_left_open`.
#pragma once

#include "base/atomic.h"

namespace thrum::rt {

class deadlock_state {
 public:
  // What a check has found: whether only a thread that the runtime does not know may end a deadlock. Returns what the
  // check before it found. relaxed: see is_left_open
  bool note_check(bool is_left_open) noexcept { return is_left_open_.exchange(is_left_open, relaxed); }
  // What the last check found. Any thread. relaxed: sysmon takes it for a hint, and checks again under the lock
  [[nodiscard]] bool is_left_open() const noexcept { return is_left_open_.load(relaxed); }

  // A thread is about to report a deadlock, after which the program ends. No other thread reports one.
  void note_report() noexcept { is_reported_ = true; }
  [[nodiscard]] bool is_reported() const noexcept { return is_reported_; }

 private:
  bool is_reported_ = false;
  atomic<bool> is_left_open_{false};
};

}  // namespace thrum::rt
