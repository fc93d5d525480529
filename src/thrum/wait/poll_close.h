// Closing a descriptor, and giving its number and its record back. wait/poll_use.h has the protocol.
#pragma once

#include "core/poll_desc.h"

#include <cstdint>

namespace thrum::rt {

// Marks the descriptor as closed, wakes all goroutines that wait for it, and gives the owner's share up. Returns false
// if it was already closed. Never switches, unless the program has set SO_LINGER, because closing is a blocking call
// then.
bool close_poll_desc(poll_desc& d) noexcept;

// Whether a descriptor that was in use was closed a moment ago. A call may then be inside the kernel with the closed
// file and keep the file's port or name from being free.
[[nodiscard]] bool was_closed_in_use_lately() noexcept;

// Closes the descriptor if need be. The handle does not name the record after this.
void drop_poll_desc(poll_desc& d) noexcept;

// Called when the run `ended` is over and all its goroutines rest. Closes the descriptors that were closed while these
// goroutines used them, and those of earlier runs that no handle names. A goroutine of an earlier run that has not come
// to rest may be about to close its descriptor itself, so one that a handle names is left to it.
void close_abandoned_descriptors(std::uint32_t ended) noexcept;

}  // namespace thrum::rt
