// The outermost frame of a goroutine stack (thrum_goroutine_entry), and what happens when an exception reaches it.
#pragma once

#include <cstdint>

namespace thrum::rt {

// Called on the stack of the goroutine that threw, before anything is unwound. The exception is current, as in a catch
// block. The hook must not return. boot/ sets it to the panic report. Without a hook, an uncaught exception calls
// std::terminate as usual.
using uncaught_hook = void (*)() noexcept;
void set_uncaught_hook(uncaught_hook hook) noexcept;

// Whether the address lies in the code of that frame, which has no caller. It only compares addresses, so it may be
// called anywhere.
[[nodiscard]] bool is_outermost_frame(std::uintptr_t pc) noexcept;

}  // namespace thrum::rt
