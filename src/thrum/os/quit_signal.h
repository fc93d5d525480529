// SIGQUIT, which asks a program to report what it is doing and to end.
#pragma once

namespace thrum::rt::os {

// Has handler() called when the signal arrives, on any thread. It runs in a signal handler and may do only what is
// allowed there. Returns false if the program has its own action, which then stays in force, or if sigaction fails.
[[nodiscard]] bool install_quit_signal(void (*handler)() noexcept) noexcept;
void remove_quit_signal() noexcept;

}  // namespace thrum::rt::os
