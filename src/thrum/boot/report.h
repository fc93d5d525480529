// The report on all goroutines while the run goes on: for SIGQUIT, and as a part of the report on a panic.
#pragma once

#include "core/sched.h"

#include <cstdint>

namespace thrum::rt {

inline constexpr std::uint64_t no_goroutine_id = 0;  // no goroutine's id

// Writes the report to standard error, without the goroutine whose id is `except_id`. Runs on a thread that is no M. A
// goroutine that cannot be stopped within a second is shown as it is found.
void report_goroutines(Sched& s, std::uint64_t except_id) noexcept;

// The same for a goroutine that panics, about the other goroutines. Called on its own thread, in user code. The thread
// maker makes the report, and sysmon takes the P of the calling thread, which sleeps meanwhile. So this works wherever
// the goroutine is: with or without a P, in a system call, locked, and while other threads stop the world.
//
// Returns when the report is written, or after a time limit, because neither the end of the run nor a thread that
// delays the report may keep the program from ending. In the latter case it says what is missing. It is called once in
// the life of the process.
void report_other_goroutines(Sched& s, std::uint64_t except_id) noexcept;

// The line that a report on a panic has in place of goroutines that it does not show.
void say_that_others_are_missing(char const* why) noexcept;

}  // namespace thrum::rt
