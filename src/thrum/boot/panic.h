// The report on an exception that leaves a goroutine, which ends the program.
#pragma once

namespace thrum::rt {

// Returns what() of the exception that is being handled, or its type. There must be one, and it must be a C++
// exception.
[[nodiscard]] char const* what_of_current() noexcept;

// Called on the throwing goroutine's stack, with the exception current and before anything is unwound. Does not return.
void report_panic() noexcept;

// Reports a fatal misuse by the calling goroutine, with its stack and the place where it was created, and ends the
// program (sync/misuse.h). Called in user code.
[[noreturn]] void report_misuse(char const* what) noexcept;

// Called on m, inside a handler of the exception. Prints a line on the probable cause if the exception's message is
// known to mislead.
void print_panic_hint(struct M const& m) noexcept;

}  // namespace thrum::rt
