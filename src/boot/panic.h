// An exception that leaves a goroutine ends the program: the report.
#pragma once

namespace thrum::rt {

// On the throwing goroutine's stack, with the exception current and nothing unwound yet. Does not return.
void report_panic() noexcept;

}  // namespace thrum::rt
