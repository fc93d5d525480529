// Waking sysmon for put-off wake-ups. core/sysmon_link.h has the other ways to wake sysmon.
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// Nudges sysmon if it does not watch for put-off wake-ups.
void make_sysmon_watch_put_off(Sched& s) noexcept;
// Step 3 of the left column of the table of put-off wake-ups (sched/wake.h). Called by the owner of p.
inline void ensure_put_off_is_watched(P& p) noexcept {
  p.has_put_off.store(true, relaxed);  // relaxed: sysmon only chooses its pace by it
  if (p.sched.watch.put_off_is_unwatched() && p.sched.idle.any_idle()) [[unlikely]]
    make_sysmon_watch_put_off(p.sched);
}

}  // namespace thrum::rt
