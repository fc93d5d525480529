// A child of fork whose parent was inside a run.
//
// The child has one thread, the one that called fork. The scheduler's other threads are not in it, locks that they held stay held, and the
// parent's poller is shared with it. So no run is alive there and none can be started: what needs one throws std::logic_error. The
// child may exec, exit and _exit, and if it was the main goroutine that forked, run() returns in it (boot/run.cpp).
#pragma once

#include "base/atomic.h"

namespace thrum::rt {

// Set by the first code that runs in the child (boot/house.cpp), before it has a second thread.
extern constinit atomic<bool> is_forked_inside_run;
[[nodiscard]] inline bool forked_inside_run() noexcept { return is_forked_inside_run.load(relaxed); }

// The end of a sentence about something that needs a run, and there is none.
[[nodiscard]] inline char const* why_no_runtime() noexcept {
  return forked_inside_run()
             ? "no runtime is alive: this process is a fork of one that was inside run(), and the scheduler's threads are not "
               "in it; call exec or _exit here, or fork before run()"
             : "no runtime is alive";
}

}  // namespace thrum::rt
