// Goroutines that their run has left behind: they were in user code when the run ended, and could not be stopped there.
// docs/internals.md says what such a goroutine may do, under "Objects that outlive a run".
#pragma once

#include "core/current.h"
#include "core/sched.h"

namespace thrum::rt {

// Whether m's goroutine has called exit(), and goes on although its run leaves goroutines behind.
[[nodiscard]] inline bool goes_on_to_exit(M const& m) noexcept {
  return m.sched.end.exits_on(m) && m.sched.epoch == Sched::live_epoch.load(relaxed);
}

// Whether the caller is a goroutine that its run has left behind. What it begins outside the runtime, it may not end,
// because a signal may stop it for good.
[[nodiscard]] inline bool is_left_behind() noexcept {
  M const* const m = current_m();
  // If a foreign thread's seat is over, its run's memory may be gone.
  return m != nullptr && !m->is_foreign && m->sched.end.goroutines_are_left_behind() && !goes_on_to_exit(*m);
}

}  // namespace thrum::rt
