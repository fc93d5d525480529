// The exception with which run() reports that the system has refused something that a run needs to start.
//
// It allocates, so it is thrown on the thread that called run(), before any goroutine exists.
#pragma once

namespace thrum::rt {

// Throws std::system_error with this errno and the text "thrum::run: <what>".
[[noreturn]] void throw_system_error(int error, char const* what);

}  // namespace thrum::rt
