// Goroutines that sleep in the kernel in calls that were not announced (T04).
#pragma once

#include "support/gate.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>

#include <gtest/gtest.h>

namespace thrum::test {

// On a goroutine, with `procs` Ps: there are as many sleepers, so the caller runs only if a P is taken from one of
// them.
inline void expect_others_to_run_while_all_ps_sleep(int procs) {
  using std::chrono::microseconds;
  std::atomic<int> asleep{0};
  gate kernel;
  wait_group all;
  for (int i = 0; i < procs; ++i) {
    all.go([&] {
      ++asleep;
      kernel.wait();
    });
  }
  while (asleep < procs) sleep_for(microseconds(100));
  for (int i = 0; i < 10; ++i) sleep_for(microseconds(100));
  for (int i = 0; i < procs; ++i) kernel.open();
  all.wait();
  EXPECT_GT(read_stats().unannounced, 0U);
}

}  // namespace thrum::test
