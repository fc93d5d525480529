// Part of sysmon: watches whether exit() on a goroutine comes to its end (sched/exit_stage.h).
//
// exit() stops all other goroutines wherever they are, so one of them may hold a lock of the program's own for good. A
// destructor that wants this lock then waits for ever, and no other thread of the program is left to say why. So sysmon
// watches the thread that exits. If that thread has used no CPU for a second and sleeps in a futex, sysmon reports it,
// once. Other calls, such as a long write, end by themselves.
#pragma once

#include "core/sched.h"
#include "sys/report_text.h"

#include <cstdint>

namespace thrum::rt {

class exit_watch {
 public:
  // Runs on sysmon's thread. `exiting` is Sched::end.exiting_m(). While standard error takes no report, it is tried
  // later.
  void look(M const& exiting, report_text& out, std::int64_t now_ns) noexcept;

 private:
  std::int64_t cpu_seen_ns_ = -1;     // the CPU time that the thread had used at the last look
  std::int64_t asleep_since_ns_ = 0;  // the thread has used no CPU time since then
  bool is_reported_ = false;
};

}  // namespace thrum::rt
