// Libraries that are loaded when they are first needed, so that thrum depends on nothing but the C and C++ libraries.
//
// A statically linked program has a C library of its own. A library that it loads brings a second one along, whose threads,
// locks and heap the first does not know, and calls into it crash. So such a program loads nothing.
#pragma once

namespace thrum::rt::os {

// Whether the program was linked with -static or -static-pie: then it names no loader. Takes the loader's lock.
[[nodiscard]] bool program_is_static() noexcept;

// As dlopen, for this process's whole life; nullptr: it is not installed, or the program is static.
[[nodiscard]] void* load_library(char const* file) noexcept;

}  // namespace thrum::rt::os
