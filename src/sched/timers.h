// Running what is due, setting and stopping (S27).
#pragma once

#include "core/current.h"
#include "core/sched.h"

namespace thrum::rt {

// The clock of all timers.
[[nodiscard]] std::int64_t timer_clock_ns() noexcept;

// --- on g0, by an M with a P ---

// Runs what is due in the heap of `whose`, at most a batch: sleepers become runnable on m's own P, in the order of their
// times, and records fire.
void run_due_timers(M& m, P& whose, std::int64_t now_ns) noexcept;

// The search's look at the timers: m's own P's, or those of all Ps if m has kept the time for them.
void look_at_timers(M& m) noexcept;

// --- anybody, with r locked ---

// Stops r: true if it was armed in the run that is alive and will not fire any more. When it returns, nothing fires.
bool stop_locked(timer_record& r) noexcept;

// --- in user code, on a goroutine or elsewhere ---
// All with the in-runtime mark set where there is an M to set it on: who holds one of these locks must not be preempted,
// since the next to want it may be the only P (T01).

class runtime_mark {
 public:
  runtime_mark() noexcept : m_(current_m()) {
    if (m_ != nullptr) enter(*m_);
  }
  ~runtime_mark() {
    if (m_ != nullptr) leave(*m_);
  }
  runtime_mark(runtime_mark const&) = delete;
  runtime_mark& operator=(runtime_mark const&) = delete;

 private:
  M* m_;  // nothing under the mark switches
};

class [[nodiscard]] timer_guard {
 public:
  explicit timer_guard(timer_record& r) noexcept : guard_(r.lock) {}

 private:
  runtime_mark mark_;
  os::lock_guard guard_;
};

// An idle record; throws std::bad_alloc.
[[nodiscard]] timer_record& new_timer(timer_function fire, void* argument);

// Its owner lets it go, stopped.
void end_timer(timer_record& r) noexcept;

}  // namespace thrum::rt
