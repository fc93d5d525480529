// A child of fork whose parent was inside a run.
//
// The child has one thread, the one that called fork. The scheduler's other threads do not exist in it, locks that they
// held stay locked, and it shares the parent's poller. So no run is alive in the child and none can be started: a
// function that needs one throws std::logic_error. The child may exec, exit and _exit. If the main goroutine forked,
// run() returns in the child (boot/run.cpp).
#pragma once

#include "base/atomic.h"

namespace thrum::rt {

// Set by the first code that runs in the child (boot/run_services.cpp), before the child has a second thread.
extern constinit atomic<bool> is_forked_inside_run;
[[nodiscard]] inline bool forked_inside_run() noexcept { return is_forked_inside_run.load(relaxed); }

// The last part of the message of a call that needs a run while no run is alive.
[[nodiscard]] inline char const* why_no_runtime() noexcept {
  return forked_inside_run()
             ? "no runtime is alive: this process was forked inside run(), and the scheduler's threads do not exist "
               "in it. Call exec or _exit here, or fork before run()"
             : "no runtime is alive";
}

}  // namespace thrum::rt
