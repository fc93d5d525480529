// The last word on a stack overflow: which goroutine, where it was created, how large its stack was and what
// to do.
//
// Runs in the SIGSEGV handler, on the alternate signal stack: the stack that overflowed has no room left. The
// stack is found by the address of the fault, not by the goroutine that happens to be current: the switch may
// be half done, and a thread that is between two goroutines has none. Rows S29, SK-01.
//
// No locks. One exception to what a handler may call: dladdr, to name the creation site. It comes after the
// line that matters, and the program ends whatever it does.
#pragma once

#include "arch/stack_walk.h"
#include "os/signal.h"
#include "stack/stack.h"

#include <cstdint>

namespace thrum::rt {

// A goroutine that has left its stack at the low end.
struct overflow_victim {
  stack const& on;
  std::uint64_t id;     // 0: no goroutine
  void* creation_site;  // nullptr: not known
};

// What a higher floor knows, filled by boot while a run is alive; both may be nullptr.
struct overflow_hooks {
  // The goroutine that the calling thread runs on this stack, if there is one. It may be another than the stack was bound to: a child
  // that was joined in place.
  overflow_victim (*running_on)(stack const& on) noexcept;
  // Writes the innermost frames to standard error.
  void (*print_frames)(stack_registers const& from, stack_range on) noexcept;
};
void set_overflow_hooks(overflow_hooks hooks) noexcept;

// A fault in the guard of a stack is reported, and ends the program with exit code 2. Any other answers
// false: it is the next handler's.
bool report_if_overflow(int signal, siginfo_t* info, void* ucontext) noexcept;

[[nodiscard]] inline bool is_on(stack const& own, char const* sp) noexcept { return sp >= own.low && sp <= own.top; }

// Whether it is the address of a goroutine's stack or its guard. Lock-free.
[[nodiscard]] bool lies_in_an_arena(char const* address) noexcept;

// The stack pointer lies in the stack of another goroutine: a frame larger than the guard has jumped over it. Says so, with the frames from
// there, and ends the program with exit code 2.
[[noreturn]] void report_jump(overflow_victim const& jumped, stack_registers const& at) noexcept;

}  // namespace thrum::rt
