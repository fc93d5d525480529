// Part of sysmon: repeats the check for a deadlock while only a thread that the runtime does not know prevents the
// report (sched/deadlock.h).
//
// Such a thread may end, or sleep for good, at any time, and the runtime is not told. Examples are a thread of the
// program that never calls thrum, and a goroutine that an earlier run has left behind. So sysmon counts the threads of
// the process again and again. The pauses between two checks grow from 10 ms to 10 s as long as nothing moves, so a
// deadlock is reported at most 10 s after the last such thread has ended, and a program that waits for such a thread
// costs one check every 10 s. Each pause is also at least 20 times as long as the check took, because a process may
// have thousands of threads.
//
// If there is a deadlock, the report is made on sysmon's thread. For that it may make a thread, which sysmon does
// nowhere else (T01). No lock of the C library can be missing then, because no goroutine runs or was stopped in the
// middle of user code.
//
// In all other situations there is nothing to check again, because the thread that ends the situation makes the check
// itself. Then next_ns() is never_ns, and sysmon sleeps until a P is used.
#pragma once

#include "core/sched.h"

#include <cstdint>

namespace thrum::rt {

class deadlock_watch {
 public:
  explicit deadlock_watch(Sched& s) noexcept : sched_(s) {}

  // Makes the check that is due. `all_still`: no goroutine has run since the last call. Runs on sysmon's thread. Takes
  // sched.lock for the check, and does not return if there is a deadlock.
  void look(std::int64_t now_ns, bool all_still) noexcept;

  // When the next check is due; never_ns: none is needed.
  [[nodiscard]] std::int64_t next_ns(std::int64_t now_ns) noexcept;

 private:
  void begin_anew(std::int64_t now_ns) noexcept;

  Sched& sched_;
  std::int64_t pause_ns_ = 0;
  std::int64_t next_ns_ = never_ns;
};

}  // namespace thrum::rt
