// A kernel without membarrier, or a sandbox that forbids it: what relies on it is done in another way, or not at all.
#include "core/sched.h"
#include "os/barrier.h"
#include "os/fault.h"
#include "support/gate.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include "syscalls/sleepers.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

class without_barrier : public at_every_width {
 protected:
  without_barrier() { rt::os::inject_fault(rt::os::call::membarrier, ENOSYS, 0, rt::os::fault_for_good); }
  ~without_barrier() override {
    rt::os::clear_faults();
    rt::os::prepare_barrier();
  }
};
THRUM_AT_EVERY_WIDTH(without_barrier);

TEST_P(without_barrier, S14_calls_give_their_p_away_at_once) {
  run([] {
    EXPECT_FALSE(rt::os::has_barrier());
    gate kernel;
    wait_group all;
    for (int i = 0; i < procs(); ++i) {
      all.go([&] { blocking([&] { kernel.wait(); }); });
    }
    EXPECT_TRUE(wait_until([] { return read_stats().in_calls == static_cast<std::uint64_t>(procs()); }));
    for (int i = 0; i < procs(); ++i) kernel.open();
    all.wait();
    EXPECT_EQ(read_stats().retaken, 0U);
  });
}

// The kernel tells which threads sleep.
TEST_P(without_barrier, T04_others_run_while_all_ps_sleep_in_calls_that_were_not_announced) {
  run([] {
    EXPECT_FALSE(rt::os::has_barrier());
    expect_others_to_run_while_all_ps_sleep(procs());
  });
}

TEST_P(without_barrier, S23_the_number_of_ps_changes) {
  with_own_procs const fixed;
  run([] {
    gate kernel;
    wait_group all;
    all.go([&] { blocking([&] { kernel.wait(); }); });
    EXPECT_TRUE(wait_until([] { return read_stats().in_calls == 1; }));
    EXPECT_EQ(set_max_procs(procs() + 1), procs());
    EXPECT_EQ(set_max_procs(1), procs() + 1);
    kernel.open();
    all.wait();
  });
}

// Whether one is about to enter cannot be seen: the memory of the run stays.
TEST_P(without_barrier, S38_threads_from_outside_come_and_go) {
  std::thread plain;
  std::atomic<int> sum{0};
  run([&] {
    chan<int> values;
    plain = std::thread([&] {
      for (int i = 1; i <= 100; ++i) values.send(i);
    });
    for (int i = 0; i < 100; ++i) sum += values.recv().value();
  });
  plain.join();
  EXPECT_EQ(sum, 5050);
  int again = 0;
  run([&] { again = 1; });
  EXPECT_EQ(again, 1);
}

}  // namespace
}  // namespace thrum::test
