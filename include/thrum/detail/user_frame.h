// For inlined functions that call the library to wake a goroutine. Traces name the return address of that call as the
// place in the user's code.
#pragma once

#include <thrum/detail/at_least_cxx20.h>

namespace thrum::detail {

// Stands behind the call. Otherwise the compiler may make the call a jump if it is the last thing that the user's
// function does, and the return address would be in the caller of that function. It is no instruction.
[[gnu::always_inline]] inline void stay_in_users_function() noexcept { asm volatile(""); }

}  // namespace thrum::detail
