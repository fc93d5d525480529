// What the tests of mutex and shared_mutex share.
#pragma once

#include "core/p.h"
#include "os/thread.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/slices.h"
#include <thrum/thrum.h>

#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {

// Ten goroutines wait for the lock, one after the other. They get it in this order.
template <class Lock>
void expect_waiters_in_order(void (Lock::*take)(), void (Lock::*release)()) {
  in_run_order const undisturbed;
  run_at(1, [&] {
    Lock guard;
    (guard.*take)();
    std::vector<int> order;
    wait_group all;
    for (int i = 0; i < 10; ++i) {
      all.go([&, i] {
        guard.lock();
        order.push_back(i);
        guard.unlock();
      });
      thrum::yield();  // the goroutine waits then
    }
    (guard.*release)();
    all.wait();
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  });
}

// Moves the goroutine that was readied out of runnext, and keeps the P until the run is over.
inline void end_the_run_here() {
  thrum::go([] {
    while ((this_p().attention.load(rt::relaxed) & rt::attend::stopping) == 0) rt::os::yield_thread();
  });
}

}  // namespace thrum::test
