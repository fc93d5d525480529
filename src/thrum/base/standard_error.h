// The writer to standard error. All reports go through it.
//
// Standard error may be a pipe or a terminal that is full and that no process reads. Then a program that is to end with
// its report must end all the same, and a program that goes on after a report must not stop for ever, because the
// thread that reports may hold a lock or a P. The functions make system calls directly and hold no lock, so they may be
// called on g0, under a lock and on a signal stack.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thrum::rt {

// Writes the text, unless the kernel reports an error. If the reader has gone, the text is lost and no SIGPIPE is
// raised. The program ends in the way that the report is about, or goes on.
//
// A write waits until standard error takes something, but for 10 s at most, and for 60 s in all while it takes the text
// piece by piece (60 s more for each 512 KiB). After that the rest of the text is lost, and later writes do not wait at
// all, until standard error takes a whole piece of a text at once. The next text that it takes begins with a line that
// says so.
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

}  // namespace thrum::rt
