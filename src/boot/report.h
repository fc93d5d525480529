// The report on all goroutines while the run goes on: for SIGQUIT, and beside a panic.
#pragma once

#include "core/sched.h"

#include <cstdint>

namespace thrum::rt {

inline constexpr std::uint64_t nobody = 0;  // no goroutine's id

// To standard error, without the one whose id is `but`. On a thread that is no M. What cannot be stopped within a second is shown
// as it is found.
void report_goroutines(Sched& s, std::uint64_t but) noexcept;

// The same for a goroutine that panics, about the others: on its own thread, in user code. The thread maker makes the report, and
// sysmon takes the P of the thread, which sleeps meanwhile, so this works wherever the goroutine is: with or without a P, in a
// system call, locked, and beside others who stop the world. Returns when it is written, or when patience is over: the end of
// the run, or somebody who holds everything up, must not keep the program from ending. One call in the life of the process.
void report_other_goroutines(Sched& s, std::uint64_t but) noexcept;

}  // namespace thrum::rt
