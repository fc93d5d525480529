#include "sched/notify.h"

#include "os/futex.h"

namespace thrum::rt {

void have_put_off_watched(Sched& s) noexcept {
  if (s.put_off_is_unwatched.exchange(false, seq_cst)) s.sysmon.nudge();  // otherwise another M nudges it
}

void ring_thread_maker(Sched& s) noexcept {
  s.thread_maker_bell.fetch_add(1U, release);  // pairs with the thread maker's load of the bell
  os::futex_wake(s.thread_maker_bell, 1);
}

}  // namespace thrum::rt
