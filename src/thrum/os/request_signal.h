// Signals with which a user asks a program for something from outside: SIGQUIT for a report, and the one of
// THRUM_TRACE_SIGNAL for a trace.
#pragma once

#include <cstdint>

namespace thrum::rt::os {

enum class request : std::uint8_t { report, trace };

// Has handler() called when the signal arrives, on any thread. It runs in a signal handler and may do only what is
// allowed there. Returns false if the program has its own action, which then stays in force, or if sigaction fails.
[[nodiscard]] bool install_request_signal(request what, int number, void (*handler)() noexcept) noexcept;
void remove_request_signal(request what) noexcept;

}  // namespace thrum::rt::os
