// The alternate stack that signal handlers of a thread run on, with a guard at its low end.
//
// Without the guard, a handler of the program that uses more than the stack has would write into the memory below,
// often the signal stack of another thread. The guard is as large as the usable part, because the locals of one handler
// may jump over a smaller guard.
//
// No locks. map_signal_stack and unmap_signal_stack run on any thread, on g0.
#pragma once

#include <cstddef>

namespace thrum::rt {

struct signal_stack {
  char* low = nullptr;        // the lowest usable byte; nullptr: there is no stack
  bool is_split_off = false;  // the guard was made by mprotect, so it uses memory mappings (stack/guard.h)
  [[nodiscard]] bool guard_holds(char const* address) const noexcept;
};

// Maps os::alt_stack_bytes() above a guard. Returns 0 or the errno. If no guard can be installed, the stack has none.
[[nodiscard]] int map_signal_stack(signal_stack& out) noexcept;
void unmap_signal_stack(signal_stack& gone) noexcept;

}  // namespace thrum::rt
