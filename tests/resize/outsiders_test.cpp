// S23: which of several threads stops the world first.
#include "os/thread.h"
#include "sched/world.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace thrum {
namespace {

constexpr int stoppers = 3;

// A thread that is no M has the right to stop the world. Another such thread waits for the right, and so do goroutines
// that want to stop the world again and again. Returns how often the goroutines stop it before the other thread does.
int stops_before_an_outsider() {
  rt::Sched& s = test::this_sched();
  std::atomic<bool> is_held{false};
  std::atomic<int> begun{0};
  std::atomic<int> stops{0};
  std::atomic<bool> is_over{false};
  int stops_before = 0;
  std::thread holder([&] {
    EXPECT_TRUE(test::wait_until([&] { return s.world.try_to_take(); }));
    is_held = true;
    EXPECT_TRUE(test::wait_until([&] { return begun == stoppers && s.world.is_for_outsiders(); }));
    s.world.give_back();
  });
  EXPECT_TRUE(test::wait_until([&] { return is_held.load(); }));
  std::thread outsider([&] {
    {
      rt::stopped_world const world(s, test::wait_limit_ns);
      EXPECT_TRUE(world.is_stopped());
      stops_before = stops;
    }
    is_over = true;
  });
  wait_group all;
  for (int i = 0; i < stoppers; ++i) {
    all.go([&] {
      ++begun;
      for (int procs = 0; !is_over; ++procs) {
        set_max_procs(1 + procs % 3);
        ++stops;
      }
    });
  }
  all.wait();
  blocking([&] {
    holder.join();
    outsider.join();
  });
  return stops_before;
}

// A goroutine that has found no other thread waiting may be about to take the right, so each stops the world once at
// most.
TEST(outsiders, S23_DL11_a_thread_that_is_no_m_goes_before_goroutines_that_stop_the_world_again_and_again) {
  test::with_own_procs const fixed;
  for (int round = 0; round < 10; ++round) {
    test::run_at(3, [] { EXPECT_LE(stops_before_an_outsider(), stoppers); });
  }
}

}  // namespace
}  // namespace thrum
