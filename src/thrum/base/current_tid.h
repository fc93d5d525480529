#pragma once

namespace thrum::rt {

// The kernel's number of the calling thread. Allocates nothing, and may be called in a signal handler.
[[nodiscard]] int current_tid() noexcept;

}  // namespace thrum::rt
