// Telling goexit from an exception, in a catch (...) that wants only exceptions.
#pragma once

#include <cxxabi.h>

namespace thrum::detail {

// Inside a handler: what was caught is no C++ exception but a forced unwinding, and must be rethrown.
inline bool is_forced_unwind() noexcept { return abi::__cxa_current_exception_type() == nullptr; }

}  // namespace thrum::detail
