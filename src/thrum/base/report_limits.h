// The unit of the time limits of reports, and the steps that show that a report goes on. A report must not keep a
// program from ending, so each of its steps has a limit of some seconds: a write (base/standard_error.h), the names of
// functions (boot/places.cpp, boot/crash.cpp, debug/dump.cpp), the list of the other goroutines (boot/report.cpp), and
// the whole report (boot/crash.cpp, core/ender.cpp).
#pragma once

#include "base/atomic.h"

#include <cstdint>

namespace thrum::rt {

// One second, unless a test has shortened it.
[[nodiscard]] std::int64_t second_of_reports_ns() noexcept;

// For tests of what happens when a limit has passed: all limits become shorter in proportion. Called before the report
// begins.
void set_second_of_reports(std::int64_t ns) noexcept;

// Counts the steps of all reports, so that a thread which waits for the end of a report can tell a slow report from one
// that is stuck (core/ender.h). write_to_stderr notes one step for each piece that it has written, and one when it
// gives up.
void note_step_of_report() noexcept;
[[nodiscard]] std::uint32_t count_steps_of_reports() noexcept;

// Lives on a thread that makes a part of a report, while another thread waits for that part. Also counts the steps that
// are noted on this thread in `steps`. So the thread that waits is not misled by the steps of other reports, nor by
// those of a thread that waits in turn. They do not nest.
class [[nodiscard]] steps_of_thread {
 public:
  explicit steps_of_thread(atomic<std::uint32_t>& steps) noexcept;
  ~steps_of_thread();
  steps_of_thread(steps_of_thread const&) = delete;
  steps_of_thread& operator=(steps_of_thread const&) = delete;
};

}  // namespace thrum::rt
