// Fatal misuse of a primitive, such as unlocking a mutex that is not locked.
//
// The report names the goroutine, what it did wrong and where, and the program ends with exit code 2. `misuse` is
// called in user code, where the report may allocate. On a thread that runs no goroutine, and inside the runtime, only
// the message is printed.
#pragma once

namespace thrum::rt {

[[noreturn]] void misuse(char const* format, ...) noexcept __attribute__((format(printf, 1, 2)));

// Filled in by boot: reports what the calling goroutine has done, with its stack, and ends the program.
void set_misuse_report(void (*report)(char const* what) noexcept) noexcept;

}  // namespace thrum::rt
