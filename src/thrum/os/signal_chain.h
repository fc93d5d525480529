// A signal whose action thrum replaces for a while: taking the action over, passing on the signals that are not
// thrum's, and handing the action back (T15).
//
// No locks, no allocation. pass_on runs in a signal handler. The other functions do not.
#pragma once

#include "base/atomic.h"

#include <signal.h>

namespace thrum::rt::os {

// `previous` is the program's action. It is written before thrum's action is in force. `linked` says that thrum's
// action is in force, or that the program has put an action of its own on top, which may call thrum's.
struct chained_signal {
  int number = 0;
  bool linked = false;
  struct sigaction previous {};
  atomic<bool> is_spent{false};  // `previous` was for one signal only (SA_RESETHAND) and has handled it
};

using signal_entry = void (*)(int number, siginfo_t* information, void* context);

// Reads the action that is in force. Returns 0 or the errno.
[[nodiscard]] int look_at_action(int number, struct sigaction& action) noexcept;

// Saves the action in force, which the caller has just looked at, in `previous`, and makes `entry` the action, with
// SA_SIGINFO and these flags. Returns 0 or the errno. After an error the action in force is unchanged.
[[nodiscard]] int take_over(chained_signal& signal, struct sigaction const& in_force, signal_entry entry,
                            int flags) noexcept;

// The same for a signal that was taken over earlier, if `entry` is not in force or has other flags. Does not change
// `previous`.
[[nodiscard]] int put_in_force(chained_signal& signal, signal_entry entry, int flags) noexcept;

// Restores the previous action. Returns EBUSY if the program has put its own action on top. thrum's action then stays
// below it and only passes signals on.
[[nodiscard]] int hand_back(chained_signal& signal, signal_entry entry) noexcept;

// Whether the program has a handler function for it.
[[nodiscard]] bool has_handler(chained_signal const& signal) noexcept;

// Does what would have happened without thrum's action. Not noexcept, because the program's handler may throw or
// longjmp.
void pass_on(chained_signal& signal, siginfo_t* information, void* context);

}  // namespace thrum::rt::os
