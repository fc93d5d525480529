// Calls of functions that may fault because what they read may be damaged, and the walk of a stack as such a call.
//
// The unwinder trusts the stack that it walks. If the program has overwritten a return address, or if the unwind
// information of a function is wrong, the unwinder reads an address that does not exist. That must not end a report, or
// the program.
//
// Reading the memory through the kernel first (os::readable) does not work, because the unwinder computes the addresses
// and reads them in one step.
//
// A fault in the guarded function comes to the handler of os/signal.h, which ends the call by changing the registers to
// which it returns. So the function must hold no lock and own nothing. Without that handler, or if the program has put
// its own in its place, a fault takes its usual way.
//
// No locks, no allocation. May be called on every stack and in a signal handler. All signals but those of faults are
// blocked during the call, because a handler of the program that ran on top of it might have faults of its own.
#pragma once

#include "arch/stack_walk.h"

#include <cstddef>
#include <cstdint>

namespace thrum::rt::os {

// Returns false if a fault has ended the call.
bool call_guarded(void (*f)(void*) noexcept, void* argument) noexcept;

// Called first in the handler of a fault. If the calling thread is in a guarded call, makes the handler return to the
// end of that call and returns true.
[[nodiscard]] bool leave_guarded_call(void* ucontext) noexcept;

// walk_stack as a guarded call. After a fault, the result is the number of frames that were found before it.
[[nodiscard]] std::size_t walk_stack_guarded(stack_registers const& from, stack_range on, std::uintptr_t* pcs,
                                             std::size_t max) noexcept;

}  // namespace thrum::rt::os
