// The report of a stack overflow: which goroutine it was, where it was created, how large its stack was and what to do.
// Rows S29, SK-01.
//
// It runs in the SIGSEGV handler, on the alternate signal stack, because the stack that overflowed has no space left.
// It finds the stack by the address of the fault. The current goroutine would not do, because the thread may be in the
// middle of a switch or between two goroutines.
//
// Takes no locks of the runtime. It calls dladdr to name the creation site, although a signal handler may not call it.
// That is acceptable, because the most important line has been printed by then, and the program ends even if dladdr
// waits for a lock that is never released (boot/crash.h).
#pragma once

#include "arch/stack_walk.h"
#include "os/signal.h"
#include "stack/stack.h"

#include <cstdint>

namespace thrum::rt {

// A goroutine whose stack pointer has passed the low end of its stack.
struct overflow_victim {
  stack const& on;
  std::uint64_t id;     // 0: no goroutine
  void* creation_site;  // nullptr: not known
};

// Functions of higher layers, set by boot/ while a run is alive. All may be nullptr.
struct overflow_hooks {
  // Called before the first line. Makes sure that the report comes to an end, whatever it waits for.
  void (*begin)() noexcept;
  // The goroutine that the calling thread runs on this stack, with id 0 if there is none. It may differ from the
  // goroutine that the stack was bound to, because a child may have been joined in place.
  overflow_victim (*running_on)(stack const& on) noexcept;
  // Writes the innermost frames to standard error.
  void (*print_frames)(stack_registers const& from, stack_range on) noexcept;
};
void set_overflow_hooks(overflow_hooks hooks) noexcept;

// If the fault is in the guard of a stack, reports it and ends the program with exit code 2. Otherwise returns false,
// and the next handler has to deal with the signal.
bool report_if_overflow(int signal, siginfo_t* info, void* ucontext) noexcept;

[[nodiscard]] inline bool is_on(stack const& own, char const* sp) noexcept { return sp >= own.low && sp <= own.top; }

// Whether the address lies in an arena, so on a goroutine's stack or in its guard. Lock-free.
[[nodiscard]] bool lies_in_an_arena(char const* address) noexcept;

// Reports that the stack pointer has left its own stack and lies on another goroutine's, because a frame that is larger
// than the guard has jumped over the guard. Prints the frames from there and ends the program with exit code 2.
[[noreturn]] void report_jump(overflow_victim const& jumped, stack_registers const& at) noexcept;

}  // namespace thrum::rt
