// Making a descriptor one of the poller's.
#pragma once

#include "core/poll_desc.h"

#include <system_error>

namespace thrum::rt {

// The descriptor's record, with the owner's share; nullptr with an error, and the descriptor is still the caller's. It is
// non-blocking already.
[[nodiscard]] poll_desc* open_poll_desc(int fd, poll_kind kind, std::error_code& error) noexcept;

}  // namespace thrum::rt
