// Whether a thread of this process sleeps in the kernel. A test waits for that instead of for a time in which the
// thread has surely come so far:
//
//   ASSERT_TRUE(spin_until([&] { return tid != 0 && sleeps_in_the_kernel(tid); }));
#pragma once

#include "os/thread_state.h"

namespace thrum::test {

[[nodiscard]] inline bool sleeps_in_the_kernel(int tid) {
  rt::os::thread_watch watch;
  return watch.look(tid).activity == rt::os::thread_activity::sleeps_in_call;
}

// True for a thread that has ended, too.
[[nodiscard]] inline bool sleeps_or_has_ended(int tid) {
  rt::os::thread_watch watch;
  rt::os::thread_activity const seen = watch.look(tid).activity;
  return seen == rt::os::thread_activity::sleeps_in_call || seen == rt::os::thread_activity::unknown;
}

}  // namespace thrum::test
