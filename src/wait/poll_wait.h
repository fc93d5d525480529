// Waiting for a descriptor, with deadlines (S25). core/poll_desc.h has the protocol.
#pragma once

#include "core/m.h"
#include "core/poll_desc.h"

#include <cstdint>

namespace thrum::rt {

class uses_inside_run;

enum class poll_outcome : std::uint8_t { ready, closed, timed_out };

// What stands in the way of a call: its deadline, or that the descriptor was closed. Never switches.
[[nodiscard]] poll_outcome look_at_poll_side(poll_desc const& d, poll_side const& side) noexcept;

// Parks until an event comes, the deadline, or close. The caller holds the side's lock (wait/poll_use.h). Throws std::logic_error if no run
// is alive, std::bad_alloc. A thread from outside may have lost its use afterwards (poll_use::is_lost).
[[nodiscard]] poll_outcome wait_until_ready(poll_desc& d, poll_side_name which);

// Throws std::logic_error as that does.
void must_be_able_to_wait(uses_inside_run const& inside);

// The moment of the monotonic clock from which on calls of this side fail, waiting or not; no_poll_deadline for none. False: no
// memory. The caller is a user. Never switches.
[[nodiscard]] bool set_poll_deadline(poll_desc& d, poll_side_name which, std::int64_t when_ns) noexcept;

// --- for poll_use ---

// One that was set while no run was alive, or an earlier one, may have passed without a timer; or it gets one now, if there is a run. `m`: the
// caller's, or nullptr.
void see_old_deadline(poll_side& side, M* m) noexcept;

// Nothing fires any more.
void forget_poll_deadlines(poll_desc& d) noexcept;
void wake_poll_waiters(poll_desc& d) noexcept;

}  // namespace thrum::rt
