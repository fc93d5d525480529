// The stack that signal handlers of a thread run on, with a guard at its low end.
//
// A handler of the program that uses more than the stack has would otherwise write into whatever memory lies below, often the signal
// stack of another thread. The guard is as large as the rest, because the locals of one handler may jump over a smaller one.
//
// No locks. map_signal_stack and unmap_signal_stack run on any thread, on g0.
#pragma once

#include <cstddef>

namespace thrum::rt {

struct signal_stack {
  char* low = nullptr;        // the lowest usable byte; nullptr: there is none
  bool is_split_off = false;  // the guard is an mprotect, which counts as memory mappings (stack/guard.h)
  [[nodiscard]] bool guard_holds(char const* address) const noexcept;
};

// os::alt_stack_bytes() above a guard. 0 or the errno. Where no guard can be had the stack does without.
[[nodiscard]] int map_signal_stack(signal_stack& out) noexcept;
void unmap_signal_stack(signal_stack& gone) noexcept;

}  // namespace thrum::rt
