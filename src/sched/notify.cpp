#include "sched/notify.h"

#include "os/futex.h"

namespace thrum::rt {

void ring_sysmon(Sched& s) noexcept {
  s.sysmon_bell.fetch_add(1U << 16U, release);  // pairs with sysmon's load of the bell
  os::futex_wake(s.sysmon_bell, 1);
}

void nudge_sysmon(Sched& s) noexcept {
  s.sysmon_bell.fetch_add(1U, release);  // pairs with sysmon's load of the bell
  os::futex_wake(s.sysmon_bell, 1);
}

void have_put_off_watched(Sched& s) noexcept {
  if (s.put_off_is_unwatched.exchange(false, seq_cst)) nudge_sysmon(s);  // otherwise another M nudges it
}

void ring_thread_maker(Sched& s) noexcept {
  s.thread_maker_bell.fetch_add(1U, release);  // pairs with the thread maker's load of the bell
  os::futex_wake(s.thread_maker_bell, 1);
}

}  // namespace thrum::rt
