// If the kernel does not show what a thread does (because there is no /proc, or the program has privileges of its own),
// sysmon uses the thread's CPU clock (T04, S18).
#include "os/fault.h"
#include "support/gate.h"
#include "support/goroutines.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cerrno>

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

class untold : public testing::Test {
 protected:
  untold() { rt::os::inject_fault(rt::os::call::open, EACCES, 0, rt::os::fault_for_good); }
  ~untold() override { rt::os::clear_faults(); }
  with_slices_of const slices_{2ms};
};

TEST_F(untold, T04_others_run_while_one_sleeps_in_the_kernel) {
  run_at(1, [] {
    gate kernel;
    wait_group all;
    all.go([&] { kernel.wait(); });
    all.go([&] { kernel.open(); });
    all.wait();
  });
}

TEST_F(untold, S18_a_loop_does_not_stop_other_goroutines) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  run_at(1, sleep_beside_a_loop);
}

// It computes for a while, and sleeps for longer. A signal would end the sleep. If sysmon gets no CPU for ten slices,
// it takes any CPU time that the thread has used for computing, and asks.
TEST_F(untold, T04_a_sleep_is_not_disturbed) {
  run_at(1, [] {
    std::atomic<bool> stop{false};
    std::atomic<int> disturbed{0};
    std::atomic<int> sleeps{0};
    wait_group all;
    all.go([&] {
      while (!stop) {
        compute_for(60us);
        if (::usleep(300) != 0) ++disturbed;
        ++sleeps;
      }
    });
    all.go([&] {
      while (!stop) yield();
    });
    EXPECT_TRUE(wait_until([&] { return sleeps > 300; }));
    stop = true;
    all.wait();
    EXPECT_LE(disturbed, sleeps / 60) << "at the end of each slice it would be one in six";
  });
}

}  // namespace
}  // namespace thrum::test
