// Every public header includes this file first, so that an older language version gets one error that says what to do
// instead of a thousand errors. Its name sorts before the names of the other headers.
#pragma once

#if __cplusplus < 202002L
#error "thrum needs C++20: compile with -std=c++20 (CMake: target_compile_features(TARGET PRIVATE cxx_std_20))"
#define THRUM_STOP_HERE <thrum/needs_cxx20>
#include THRUM_STOP_HERE  // this file does not exist, so gcc and clang both end the compilation here
#endif
