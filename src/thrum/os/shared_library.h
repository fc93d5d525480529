// Libraries that are loaded when they are first needed, so that thrum depends only on the C and C++ libraries.
//
// A statically linked program contains its own C library. A library that it loads needs a second C library, and the two
// do not know each other's threads, locks and heap, so calls into it crash. So such a program loads nothing.
#pragma once

namespace thrum::rt::os {

// Whether the program was linked with -static or -static-pie. Such a program names no loader (PT_INTERP). Takes the
// loader's lock.
[[nodiscard]] bool program_is_static() noexcept;

// Like dlopen. The library stays loaded until the process ends. Returns nullptr if it cannot be loaded or the program
// is static.
[[nodiscard]] void* load_library(char const* file) noexcept;

}  // namespace thrum::rt::os
