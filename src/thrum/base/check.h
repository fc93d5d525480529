// Assertions, and the functions that report a fatal error and end the program.
//
// THRUM_CHECK is checked in every build. THRUM_DCHECK is checked only where THRUM_DEBUG_CHECKS is set, and is for paths
// where a nanosecond counts. If the condition is false, both call `fatal`. `fatal` formats into a buffer on its stack
// and makes the write system call directly, so it may be called on g0, under a lock and on a signal stack.
#pragma once

#include "base/platform.h"

#include <cstddef>
#include <cstdint>

namespace thrum::rt {

// Writes the text to standard error by direct system calls, unless the kernel reports an error. If the reader has
// gone, the text is lost and no SIGPIPE is raised. The program ends in the way that the report is about, or goes on.
//
// All reports go through this function. Standard error may be a pipe or a terminal that is full and that no process
// reads. Then a program that is to end with its report must end all the same, and a program that goes on after a report
// must not stop for ever, because the thread that reports may hold a lock or a P. So a write waits until standard error
// takes something, but for 10 s at most, and for 60 s in all while it takes the text piece by piece (60 s more for each
// 512 KiB). After that the rest of the text is lost, and later writes do not wait at all, until standard error takes a
// whole piece of a text at once. The next text that it takes begins with a line that says so.
void write_to_stderr(char const* text, std::size_t length) noexcept;
// Writes what standard error takes without waiting. Returns how many bytes the caller is done with, which is all of
// them if the kernel reports an error.
[[nodiscard]] std::size_t write_to_stderr_at_once(char const* text, std::size_t length) noexcept;
// Whether standard error says that it takes nothing. A pipe that is full does, if its reader does not read. A terminal
// may say that it is ready and take only a few bytes.
[[nodiscard]] bool stderr_would_wait() noexcept;
// Whether standard error is a pipe or a socket whose reader has gone, or a terminal that has gone. Writes of thrum fail
// there. Writes of other libraries raise SIGPIPE.
[[nodiscard]] bool stderr_has_no_reader() noexcept;
[[nodiscard]] bool stderr_is_terminal() noexcept;
// Whether the end of a text was lost, because standard error took too long, and it has not taken a whole piece since
// then.
[[nodiscard]] bool stderr_is_given_up() noexcept;
// For tests, in place of the 10 s. The 60 s are six times as long.
void set_stderr_patience(std::int64_t ns) noexcept;

// Counts the steps of reports, so that a thread which waits for the end of a report can tell a slow report from one
// that is stuck (core/ender.h). write_to_stderr notes one step for each piece that it has written, and one when it
// gives up.
void note_step_of_report() noexcept;
[[nodiscard]] std::uint32_t count_steps_of_reports() noexcept;

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
