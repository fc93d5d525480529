#include "sched/notify.h"

namespace thrum::rt {

void make_sysmon_watch_put_off(Sched& s) noexcept {
  if (s.watch.take_nudge()) s.sysmon.nudge();  // otherwise another M nudges it
}

}  // namespace thrum::rt
