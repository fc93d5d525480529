// Assertions, and the functions that report a fatal error and end the program.
//
// THRUM_CHECK is checked in every build. THRUM_DCHECK is checked only where THRUM_DEBUG_CHECKS is set, and is for paths
// where a nanosecond counts. If the condition is false, both call `fatal`. `fatal` formats into a buffer on its stack
// and writes it by direct system calls (base/standard_error.h), so it may be called on g0, under a lock and on a signal
// stack.
#pragma once

#include "base/platform.h"

namespace thrum::rt {

// Writes "thrum: <message>\n" to standard error and ends the program with exit code 2, as Go's fatal errors do.
[[noreturn]] void fatal(char const* format, ...) noexcept __attribute__((format(printf, 1, 2)));

// Writes a line to standard error without a prefix. It is for reports of several lines that end in `die`.
void print_error(char const* format, ...) noexcept __attribute__((format(printf, 1, 2)));

// Ends the program after a report: with exit code 2, or by abort if THRUM_DEBUG=crash=1 asks for a core file.
[[noreturn]] void die() noexcept;
void set_crash_on_fatal(bool crash) noexcept;
// The function is called before the program ends by die(), or by a signal after a report (call_before_death). It may be
// called anywhere, also in a signal handler, and has to return soon.
void set_before_death(void (*function)() noexcept) noexcept;
void call_before_death() noexcept;

// Whether the calling thread is in `die`, or has called note_dying. If abort follows, it needs no report of its own.
[[nodiscard]] bool is_dying() noexcept;
void note_dying() noexcept;

[[noreturn]] void check_failed(char const* condition, char const* file, int line) noexcept;

}  // namespace thrum::rt

#define THRUM_CHECK(condition) \
  (__builtin_expect(!!(condition), 1) ? (void)0 : ::thrum::rt::check_failed(#condition, __FILE__, __LINE__))

#if THRUM_DEBUG_CHECKS
#define THRUM_DCHECK(condition) THRUM_CHECK(condition)
#else
#define THRUM_DCHECK(condition) ((void)0)
#endif
