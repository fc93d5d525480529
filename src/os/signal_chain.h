// A signal whose action is ours for a while: taking it over, passing on what is not ours, handing it back (T15).
#pragma once

#include "base/atomic.h"

#include <signal.h>

namespace thrum::rt::os {

// `previous` is written before our action is in force, and read only by our action. `linked`: our action is in force, or
// below one that the program put on top of it.
struct chained_signal {
  int number = 0;
  bool linked = false;
  struct sigaction previous {};
  atomic<bool> is_spent{false};  // `previous` was for one signal only (SA_RESETHAND), and has had it
};

using signal_entry = void (*)(int number, siginfo_t* information, void* context);

// The action in force. 0 or the errno.
[[nodiscard]] int look_at_action(int number, struct sigaction& action) noexcept;

// Puts `entry` in force, with SA_SIGINFO and these flags. 0 or the errno; on an error nothing is changed.
[[nodiscard]] int take_over(chained_signal& signal, signal_entry entry, int flags) noexcept;

// The same for one that was taken over before and is not in force, or not with these flags: the previous action remains what it was.
[[nodiscard]] int put_in_force(chained_signal& signal, signal_entry entry, int flags) noexcept;

// Restores the previous action. EBUSY: the program has put another on top of ours, which stays below as a mere link.
[[nodiscard]] int hand_back(chained_signal& signal, signal_entry entry) noexcept;

// Whether the program has a function for it.
[[nodiscard]] bool has_handler(chained_signal const& signal) noexcept;

// Does what would have happened without us. Not noexcept: the program's handler may throw or jump, as it could without us.
void pass_on(chained_signal& signal, siginfo_t* information, void* context);

}  // namespace thrum::rt::os
