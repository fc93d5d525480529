// Distinguishes goexit from an exception, for a catch (...) that is meant for exceptions only.
#pragma once

#include <exception>

namespace thrum::detail {

// To be called inside a handler. True means that a forced unwinding was caught, which must be rethrown, and not a C++
// exception. std::current_exception() returns a pointer only for an exception.
inline bool is_forced_unwind() noexcept { return std::current_exception() == nullptr; }

}  // namespace thrum::detail
