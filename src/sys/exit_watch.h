// Whether exit() on a goroutine comes to its end (sched/exit_stage.h): part of sysmon.
//
// exit() stops all other goroutines wherever they are, so one of them may hold a lock of the program's own for good. A destructor that
// wants this lock then waits for ever, and nothing else of the program is left that could say why. So sysmon watches the thread that exits:
// if it has used no CPU for a second and sleeps in a futex, sysmon reports it, once. Other calls, such as a long write, end by themselves.
#pragma once

#include "core/sched.h"

#include <cstdint>

namespace thrum::rt {

class exit_watch {
 public:
  // On sysmon's thread. `exiting` is the M in Sched::exits_on.
  void look(M const& exiting, std::int64_t now_ns) noexcept;

 private:
  std::int64_t cpu_seen_ns_ = -1;     // what the thread had used of a CPU at the last look
  std::int64_t asleep_since_ns_ = 0;  // it has used nothing since then
  bool is_reported_ = false;
};

}  // namespace thrum::rt
