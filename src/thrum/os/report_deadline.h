// A timer that interrupts a report which may wait for ever, for a lock or for the reader of a pipe.
//
// When the time is over, the kernel sends a signal to the thread that makes the report, and the handler of faults
// (os/signal.h) is called with it. A process has one such timer.
//
// No locks, no allocation. May be called in a signal handler.
#pragma once

#include <cstdint>

#include <signal.h>

namespace thrum::rt::os {

// Whether the program goes on after the report.
enum class after_report : bool {
  // The program has no use for its handler of SIGSEGV any more. thrum's handler takes its place for good, because the
  // guarded calls of the report need it (os/guarded_call.h).
  program_ends,
  // A function of the program follows, which may need all handlers of the program. None of them is replaced.
  program_goes_on,
};

// Starts the timer for the calling thread, which must not block the signal that the timer sends, so it is unblocked.
// SIGSEGV is unblocked as well if the program ends. Returns false if there is no timer or no signal for it.
bool start_report_deadline(std::int64_t after_ns, after_report what) noexcept;

// Stops the timer and undoes what start_report_deadline has done to signals, unless the program ends. The signal does
// not come after this.
void stop_report_deadline() noexcept;

// Whether this is the timer's signal.
[[nodiscard]] bool is_report_deadline(siginfo_t const& information) noexcept;

}  // namespace thrum::rt::os
