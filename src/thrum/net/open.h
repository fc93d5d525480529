// Registers a descriptor with the poller. Every socket, pipe and pidfd that goroutines wait for goes through here.
//
// Takes the locks of the record store, for a moment, inside the runtime. Runs on the caller's stack.
#pragma once

#include "core/poll_desc.h"

#include <system_error>

namespace thrum::rt {

// Returns the record of `fd`, in which the owner counts as a user (wait/poll_use.h). On failure it returns nullptr,
// sets `error`, and `fd` remains the caller's. `fd` must be non-blocking.
[[nodiscard]] poll_desc* open_poll_desc(int fd, poll_kind kind, std::error_code& error) noexcept;

}  // namespace thrum::rt
