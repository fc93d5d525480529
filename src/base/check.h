// Assertions and last words.
//
// THRUM_CHECK holds in every build; THRUM_DCHECK only where THRUM_DEBUG_CHECKS is set, for the paths that are counted
// in nanoseconds. Both end in `fatal`, which formats into a buffer on the stack and writes with one system call: it may
// be called on g0, under a lock and on the signal stack.
#pragma once

#include "base/platform.h"

#include <cstddef>

namespace thrum::rt {

// All of it, to standard error, straight to the kernel.
void write_to_stderr(char const* text, std::size_t length) noexcept;

// Writes "thrum: <message>\n" to standard error and ends the program with exit code 2, as Go's fatal errors do.
[[noreturn]] void fatal(char const* format, ...) noexcept __attribute__((format(printf, 1, 2)));

// Writes a line as it is to standard error; for reports of several lines that end in `die`.
void print_error(char const* format, ...) noexcept __attribute__((format(printf, 1, 2)));

// Ends the program after a report: exit code 2, or abort when THRUM_DEBUG=crash=1 asked for a core file.
[[noreturn]] void die() noexcept;
void set_crash_on_fatal(bool crash) noexcept;

// Whether a report is being made, or was, with which the program ends: by die, or by a panic. A crash that follows is no news.
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
