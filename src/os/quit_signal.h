// SIGQUIT, which asks a program what it is doing and to end.
#pragma once

namespace thrum::rt::os {

// Calls handler() when the signal comes, on whichever thread: it may only do what a signal handler may. False: the program has
// an action of its own, which stays in force.
[[nodiscard]] bool install_quit_signal(void (*handler)() noexcept) noexcept;
void remove_quit_signal() noexcept;

}  // namespace thrum::rt::os
