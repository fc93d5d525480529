// The scheduler's state as text, one line per interval and in detail, in Go's format (S34):
// THRUM_DEBUG=schedtrace=1000,scheddetail=1.
#pragma once

#include "core/sched.h"
#include "sys/report_text.h"

namespace thrum::rt {

// Prints to standard error, on sysmon's thread, after out.can_begin(). Allocates nothing from the C library, and writes
// with no lock held (T01). The figures of running Ps and Ms are from slightly different moments.
void print_schedtrace(Sched& s, std::int64_t since_start_ns, report_text& out) noexcept;

}  // namespace thrum::rt
