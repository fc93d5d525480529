// Telling goexit from an exception, in a catch (...) that wants only exceptions.
#pragma once

#include <exception>

namespace thrum::detail {

// Inside a handler: what was caught is no C++ exception but a forced unwinding, and must be rethrown. Only an exception
// can be pointed to.
inline bool is_forced_unwind() noexcept { return std::current_exception() == nullptr; }

}  // namespace thrum::detail
