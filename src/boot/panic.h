// An exception that leaves a goroutine ends the program: the report.
#pragma once

namespace thrum::rt {

// What the exception that is being handled says of itself, or its type. There is one, and it is C++'s.
[[nodiscard]] char const* what_of_current() noexcept;

// On the throwing goroutine's stack, with the exception current and nothing unwound yet. Does not return.
void report_panic() noexcept;

// On m, inside a handler of the exception: a line on what is behind it, where that is known to mislead.
void print_panic_hint(struct M const& m) noexcept;

}  // namespace thrum::rt
