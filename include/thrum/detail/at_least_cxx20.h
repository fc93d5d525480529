// Included first by every public header: an older language gets one error that says what to do, not a thousand. The name
// is such that it comes before the others when they are sorted.
#pragma once

#if __cplusplus < 202002L
#error "thrum needs C++20: compile with -std=c++20 (CMake: target_compile_features(TARGET PRIVATE cxx_std_20))"
#define THRUM_STOP_HERE <thrum/needs_cxx20>
#include THRUM_STOP_HERE  // there is no such file: both gcc and clang end the compilation
#endif
