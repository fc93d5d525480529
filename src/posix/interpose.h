// Macros for the definitions that replace functions of the C library.
#pragma once

// Defines a replacement. It is exported even if all other symbols of thrum are hidden, so that loaded libraries call
// it. It is opaque to the optimiser, because it may park (base/platform.h).
#define THRUM_POSIX_CALL extern "C" __attribute__((visibility("default"))) THRUM_OPAQUE

// Defines a symbol with a unique name for each file. The anchor (calls.cpp) refers to it, so that the linker takes the
// file from the archive. A reference to `read` would not do that if another part of the program, such as a sanitizer's
// runtime, defines `read`.
#define THRUM_POSIX_FILE(name)                                                    \
  extern "C" __attribute__((visibility("hidden"))) char const thrum_posix_##name; \
  char const thrum_posix_##name = 0
