// The outermost frame of a goroutine stack, and what happens when an exception reaches it.
#pragma once

#include <cstdint>

namespace thrum::rt {

// Called on the throwing goroutine's stack, before anything is unwound, with the exception made current; must not
// return. boot/ fills it with the panic report; without it an uncaught exception is std::terminate's, as everywhere.
using uncaught_hook = void (*)() noexcept;
void set_uncaught_hook(uncaught_hook hook) noexcept;

// Whether the address lies in that frame's code: who called it nobody knows. Like all that asks the unwinder, not on a signal stack.
[[nodiscard]] bool is_outermost_frame(std::uintptr_t pc) noexcept;

}  // namespace thrum::rt
