// The code that a signal has interrupted: its registers, and where it was.
//
// `ucontext` is the third argument of a signal handler. No locks, no allocation. May be called in a signal handler, and
// on any thread that can read the memory of the handler's frame.
#pragma once

#include "arch/stack_walk.h"

#include <cstddef>
#include <cstdint>

namespace thrum::rt::os {

// Whether the interrupted code ran on the thread's signal stack, so that it was a signal handler itself.
[[nodiscard]] bool was_on_signal_stack(void const* ucontext) noexcept;

// How many bytes of the thread's signal stack lie below the caller, who runs in the handler. The largest number there
// is if the handler does not run on a signal stack.
[[nodiscard]] std::size_t signal_stack_left(void const* ucontext) noexcept;

[[nodiscard]] std::uintptr_t stack_pointer_of(void const* ucontext) noexcept;
[[nodiscard]] std::uintptr_t program_counter_of(void const* ucontext) noexcept;

// Whether the instruction before this address is a system call instruction. If so, the thread was interrupted on its
// way out of a system call. The address must be in the code of the C library.
[[nodiscard]] bool is_behind_a_system_call(std::uintptr_t program_counter) noexcept;

// All general-purpose registers of the interrupted code. A walk of its stack can start from them.
[[nodiscard]] stack_registers interrupted_registers(void const* ucontext) noexcept;

}  // namespace thrum::rt::os
