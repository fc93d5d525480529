#include "sys/deadlock_watch.h"

#include "base/heuristics.h"
#include "os/clock.h"
#include "os/lock.h"
#include "sched/deadlock.h"

#include <algorithm>

namespace thrum::rt {

using namespace repeated_checks;

void deadlock_watch::begin_anew(std::int64_t now_ns) noexcept {
  pause_ns_ = pause_min_ns;
  next_ns_ = now_ns + pause_ns_;
}

std::int64_t deadlock_watch::next_ns(std::int64_t now_ns) noexcept {
  // relaxed: a check that leaves its verdict open ends a deep sleep of sysmon, and sysmon comes here again
  if (!sched_.deadlock.is_left_open()) {
    next_ns_ = never_ns;
  } else if (next_ns_ == never_ns) {
    begin_anew(now_ns);
  }
  return next_ns_;
}

void deadlock_watch::look(std::int64_t now_ns, bool all_still) noexcept {
  if (next_ns(now_ns) == never_ns) return;
  if (!all_still) return begin_anew(now_ns);
  if (now_ns < next_ns_) return;
  std::int64_t const began_ns = os::monotonic_ns();
  {
    os::lock_guard const guard(sched_.lock);
    check_deadlock_locked(sched_);
  }
  std::int64_t const ended_ns = os::monotonic_ns();
  pause_ns_ = std::max(std::min(2 * pause_ns_, pause_max_ns), pause_per_check * (ended_ns - began_ns));
  next_ns_ = ended_ns + pause_ns_;
}

}  // namespace thrum::rt
