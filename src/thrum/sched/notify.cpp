#include "sched/notify.h"

#include "os/futex.h"

namespace thrum::rt {

void make_sysmon_watch_put_off(Sched& s) noexcept {
  if (s.watch.take_nudge()) s.sysmon.nudge();  // otherwise another M nudges it
}

void notify_thread_maker(Sched& s) noexcept {
  s.thread_maker_notify_word.fetch_add(1U, release);  // pairs with the thread maker's load of the word
  os::futex_wake(s.thread_maker_notify_word, 1);
}

}  // namespace thrum::rt
