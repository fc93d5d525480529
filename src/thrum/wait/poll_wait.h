// Waiting for a descriptor, with deadlines (S25). core/poll_desc.h has the protocol.
#pragma once

#include "core/m.h"
#include "core/poll_desc.h"

#include <cstdint>

namespace thrum::rt {

class uses_inside_run;

enum class poll_outcome : std::uint8_t { ready, closed, timed_out };

// Returns what prevents a call: its deadline has passed, or the descriptor was closed. Never switches.
[[nodiscard]] poll_outcome look_at_poll_side(poll_desc const& d, poll_side const& side) noexcept;

// Parks until an event comes, the deadline passes, or the descriptor is closed. The caller holds the direction's lock
// (wait/poll_use.h). Throws std::logic_error if no run is alive, and std::bad_alloc. A foreign thread may have lost its
// use afterwards (poll_use::is_lost).
[[nodiscard]] poll_outcome wait_until_ready(poll_desc& d, poll_side_name which);

// Throws std::logic_error in the cases in which wait_until_ready does.
void must_be_able_to_wait(uses_inside_run const& inside);

// Sets the moment of the monotonic clock from which on calls in this direction fail, whether they wait or not;
// no_poll_deadline for none. Returns false if there is no memory. The caller is a user of the descriptor. Never
// switches.
[[nodiscard]] bool set_poll_deadline(poll_desc& d, poll_side_name which, std::int64_t when_ns) noexcept;

// --- for poll_use ---

// A deadline that was set while no run or an earlier run was alive may have passed without a timer. This notes that it
// has passed, or gives it a timer if there is a run. `m` is the caller's M, or nullptr.
void see_old_deadline(poll_side& side, M* m) noexcept;

// After this, no deadline of d fires.
void forget_poll_deadlines(poll_desc& d) noexcept;
void wake_poll_waiters(poll_desc& d) noexcept;

}  // namespace thrum::rt
