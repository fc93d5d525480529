// Threads of the scheduler that do something, for tests that say "on few threads".
//
//   EXPECT_TRUE(few_threads_work(procs() + 4)) << threads_at_work();
//
// num_threads() has no bound on a busy machine: an M that the kernel does not run loses its P to another thread, also
// within a short call. Those threads soon have nothing to do. So a test counts the threads that are left when its
// goroutines wait: a goroutine that kept its thread while it waits would keep it until the test's time limit.
#pragma once

#include "support/wait_until.h"
#include <thrum/runtime.h>

namespace thrum::test {

inline int threads_at_work() {
  stats const now = read_stats();
  return now.threads - now.idle_threads;
}

// Waits until there are no more than this.
[[nodiscard]] inline bool few_threads_work(int limit) {
  return wait_until([&] { return threads_at_work() <= limit; });
}

}  // namespace thrum::test
