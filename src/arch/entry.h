// The outermost frame of a goroutine stack, and what happens when an exception reaches it.
#pragma once

namespace thrum::rt {

// Called on the throwing goroutine's stack, before anything is unwound, with the exception made current; must not
// return. boot/ fills it with the panic report; without it an uncaught exception is std::terminate's, as everywhere.
using uncaught_hook = void (*)() noexcept;
void set_uncaught_hook(uncaught_hook hook) noexcept;

}  // namespace thrum::rt
