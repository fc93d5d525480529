// Child processes and deadlock detection (related to DL-05). A goroutine that waits for a child is no deadlock, because
// the child will end. A goroutine that has waited earlier does not hide a deadlock.
#include "deadlock/deadlock.h"
#include "os/fault.h"
#include <thrum/thrum.h>

#include <cstdlib>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

class process_deadlock : public deadlock_test {};

TEST_F(process_deadlock, PR07_a_goroutine_that_waits_for_a_child_is_no_deadlock) {
  for (int const procs : {1, 2, 8}) {
    for (bool const has_pidfd : {true, false}) {
      auto const child = [=] {
        if (!has_pidfd) rt::os::inject_fault(rt::os::call::pidfd, ENOSYS, 0, rt::os::fault_for_good);
        thrum::run(
            [] {
              if (process::start({"sh", "-c", "sleep 0.05; exit 3"}).wait().code() != 3) std::_Exit(1);
              wait_group all;
              all.go([] { process::start({"sleep", "0.05"}).wait(); });  // and not main
              all.wait();
            },
            {.max_procs = procs});
        std::_Exit(0);
      };
      EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
    }
  }
}

TEST_F(process_deadlock, PR07_when_the_child_has_ended_a_deadlock_is_seen) {
  for (int const procs : {1, 2, 8}) {
    auto const child = [procs] {
      thrum::run(
          [] {
            static_cast<void>(output({"echo", "x"}));
            chan<int> never;
            static_cast<void>(never.recv());
          },
          {.max_procs = procs});
    };
    EXPECT_FATAL(child(), DEADLOCK);
  }
}

}  // namespace
}  // namespace thrum::test
