// TR-02: the stats say how many goroutines run, could run, are in the kernel and wait.
#include "support/child_test.h"
#include "support/gate.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

// The figures reach these values, and they count all goroutines: the goroutine that waits for the figures is running,
// too.
#define EXPECT_GAUGES(condition)                                                                         \
  do {                                                                                                   \
    stats now;                                                                                           \
    EXPECT_TRUE(wait_until([&] {                                                                         \
      now = read_stats();                                                                                \
      return condition;                                                                                  \
    })) << "running "                                                                                    \
        << now.running << ", runnable " << now.runnable << ", in calls " << now.in_calls << ", waiting " \
        << now.waiting;                                                                                  \
  } while (false)

struct spinners {
  std::atomic<bool> stop{false};
  std::atomic<int> started{0};
  wait_group ended;

  explicit spinners(int count) {
    for (int i = 0; i < count; ++i) {
      ended.go([this] {
        ++started;
        while (!stop) rt::cpu_relax();
      });
    }
  }
  void end() {
    stop = true;
    ended.wait();
  }
};

TEST(gauges, TR02_ten_spinners_at_14_Ps_run) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  with_slices_of const slices(1ms);
  run_at(14, [] {
    spinners ten(10);
    ASSERT_TRUE(wait_until([&] { return ten.started == 10; }));
    EXPECT_GAUGES(now.running == 11 && now.runnable == 0 && now.in_calls == 0 && now.waiting == 0);
    ten.end();
  });
}

TEST(gauges, TR02_ten_spinners_at_one_P_take_turns) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  with_slices_of const slices(1ms);
  run_at(1, [] {
    spinners ten(10);
    EXPECT_GAUGES(now.running == 1 && now.runnable == 10 && now.in_calls == 0 && now.waiting == 0);
    ten.end();
  });
}

// As plain calls, which the scheduler is not told of, and announced.
void in_the_kernel(bool are_announced, int procs) {
  run_at(procs, [&] {
    std::vector<std::unique_ptr<gate>> gates;
    wait_group ended;
    for (int i = 0; i < 10; ++i) {
      gate& one = *gates.emplace_back(std::make_unique<gate>());
      ended.go([&one, are_announced] {
        if (are_announced) {
          blocking([&] { one.wait(); });
        } else {
          one.wait();
        }
      });
    }
    EXPECT_GAUGES(now.in_calls == 10 && now.running == 1 && now.runnable == 0 && now.waiting == 0);
    for (auto const& one : gates) one->open();
    ended.wait();
  });
}

TEST(gauges, TR02_ten_in_a_plain_read_are_in_calls) {
  for (int const procs : {1, 4, 14}) in_the_kernel(false, procs);
}

TEST(gauges, TR02_ten_in_an_announced_call_are_in_calls) {
  for (int const procs : {1, 4, 14}) in_the_kernel(true, procs);
}

class gauges_at : public at_every_width {};
THRUM_AT_EVERY_WIDTH(gauges_at);

TEST_P(gauges_at, TR02_a_thousand_on_a_channel_wait) {
  run([] {
    chan<int> values;
    wait_group ended;
    for (int i = 0; i < 1000; ++i) ended.go([&] { static_cast<void>(values.recv()); });
    EXPECT_GAUGES(now.waiting == 1000 && now.running == 1 && now.runnable == 0 && now.in_calls == 0);
    values.close();
    ended.wait();
    EXPECT_GAUGES(now.waiting == 0 && now.running == 1);
  });
}

TEST_P(gauges_at, TR02_created_grows_by_what_is_created) {
  run([] {
    std::uint64_t const before = read_stats().created;
    wait_group ended;
    for (int i = 0; i < 10; ++i) ended.go([] {});
    EXPECT_EQ(read_stats().created, before + 10);
    ended.wait();
    EXPECT_EQ(read_stats().created, before + 10);
  });
}

TEST(gauges, TR02_goroutines_that_have_not_started_are_runnable) {
  in_run_order const undisturbed;
  run_at(1, [] {
    wait_group ended;
    for (int i = 0; i < 100; ++i) ended.go([] {});
    stats const now = read_stats();
    EXPECT_EQ(now.runnable, 100U);
    EXPECT_EQ(now.running, 1U);
    ended.wait();
  });
}

TEST(gauges, TR02_a_joiner_waits_for_the_child_on_its_stack) {
  run_at(1, [] {
    auto child = spawn([] {
      stats const now = read_stats();
      EXPECT_EQ(now.waiting, 1U);
      EXPECT_EQ(now.running, 1U);
    });
    child.join();
  });
}

}  // namespace
}  // namespace thrum::test
