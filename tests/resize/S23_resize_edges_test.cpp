// S23, GM-05: edges of a change of the number of Ps. They are the order of a removed P's goroutines, the timekeeper,
// the limit of threads, a thousand Ps, and the CPUs of the machine.
#include "base/atomic.h"
#include "core/current.h"
#include "core/sched.h"
#include "os/lock.h"
#include "sched/queues.h"
#include "sched/requests.h"
#include "sched/world.h"
#include "support/gate.h"
#include "support/goroutines.h"
#include "support/hogs.h"
#include "support/push_key.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/tid_of.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::run_at;
using test::this_p;
using test::this_sched;

// The timekeeper is not counted as a resting M, so no deadlock would be found while it sleeps for a timer that was
// stopped. The M that leaves the last P tells the timekeeper, but a P that is to stop for the world is not left in this
// way.
TEST(resizing, S20_S23_no_thread_watches_for_a_timer_that_is_gone_when_the_world_goes_on) {
  run_at(2, [] {
    rt::Sched& s = this_sched();
    auto const a_timekeeper_watches = [&s] {
      test::lock_of_sched const guard(s.lock);
      return s.ms.timekeeper() != nullptr;
    };
    wait_group end;
    end.add(1);
    timer far(1h);
    ASSERT_TRUE(test::wait_until(a_timekeeper_watches));
    std::atomic<bool> is_over{false};
    std::thread stopper([&] {
      { rt::stopped_world const world(s, 10'000'000'000); }
      is_over = true;
      EXPECT_TRUE(test::wait_until([&] {
        rt::os::lock_guard const guard(s.lock);  // no goroutine
        return s.ms.timekeeper() == nullptr;
      }));
      end.done();
    });
    // As a rule it sees the request, and comes to the end before it is stopped here.
    EXPECT_TRUE(test::spin_until([&] { return rt::is_to_stop(this_p()) || is_over; }));
    far.stop();
    end.wait();
    stopper.join();
  });
}

TEST(resizing, S23_what_a_removed_p_had_goes_to_the_global_head_in_order) {
  test::without_slices const uninterrupted;
  run_at(1, [] {
    set_max_procs(2);
    // White-box: with the world stopped, entries are put where they would be.
    std::vector<int> order;
    std::vector<rt::G*> made;
    wait_group all;
    all.add(6);
    for (int i = 0; i < 6; ++i) {
      made.push_back(&test::make_unqueued([&, i] {
        order.push_back(i);
        all.done();
      }));
    }
    rt::M& m = *rt::current_m();
    rt::Sched& s = m.sched;
    rt::fresh_procs none;
    rt::enter_runtime(m);
    {
      rt::stopped_world const world(m);
      rt::P& other = *s.procs[m.p->id == 0 ? 1 : 0];
      rt::P& goes = *s.procs[1];
      rt::P& holder = m.p == &goes ? *m.p : other;
      for (int i = 1; i < 4; ++i)
        ASSERT_EQ(holder.queue.put(test::push, rt::entry::plain(made[static_cast<std::size_t>(i)])),
                  rt::run_queue::put_result::done);
      static_cast<void>(holder.queue.swap_next(test::push, rt::entry::plain(made[0])));
      {
        rt::os::lock_guard const guard(s.lock);
        rt::put_global_locked(test::push, s, rt::entry::plain(made[4]));
        rt::put_global_locked(test::push, s, rt::entry::plain(made[5]));
      }
      ASSERT_TRUE(rt::resize(m, 1, none));
      EXPECT_EQ(goes.status.load(rt::relaxed), rt::p_status::dead);
      EXPECT_TRUE(goes.queue.looks_empty());
    }
    rt::leave_runtime(m);
    all.wait();
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5}));
  });
}

TEST(resizing, GM05_a_thousand_ps) {
  test::with_own_procs const fixed;
  bool reached = false;
  run_at(1024, [&] { reached = true; });
  EXPECT_TRUE(reached);
  run_at(1, [] {
    set_max_procs(1024);
    EXPECT_EQ(max_procs(), 1024);
    set_max_procs(2);
    EXPECT_EQ(max_procs(), 2);
  });
}

TEST(resizing, S23_T05_at_the_limit_of_threads_beside_one_that_sleeps_in_the_kernel) {
  run_at(2, [] {
    test::gate kernel;
    std::atomic<bool> inside{false};
    wait_group all;
    all.go([&] {
      inside = true;
      kernel.wait();  // an unannounced call
    });
    ASSERT_TRUE(test::wait_until([&] { return inside.load(); }));
    set_max_threads(num_threads() + 1);  // one may be on its way
    set_max_procs(1);
    static_cast<void>(read_stats());
    set_max_threads(100);
    kernel.open();
    all.wait();
  });
}

TEST(resizing, S41_a_reader_of_the_stats_does_not_hold_the_end_up) {
  test::delays_only const quiet;
  THRUM_SKIP_IF_LOOPS_ARE_NOT_STOPPED_FOR_GOOD();
  test::with_slices_of const slices(1ms);
  auto const end_beside_readers = [] {
    std::chrono::steady_clock::time_point began;
    run_at(3, [&] {
      std::atomic<int> running{0};
      go([&] {
        ++running;
        test::loop_for_ever();
      });
      go([&] {
        ++running;
        for (;;) static_cast<void>(read_stats());
      });
      static_cast<void>(test::wait_until([&] { return running == 2; }));
      began = std::chrono::steady_clock::now();
    });
    return std::chrono::steady_clock::now() - began;
  };
  auto fastest = std::chrono::nanoseconds::max();
  for (int i = 0; i < 5; ++i) fastest = std::min<std::chrono::nanoseconds>(fastest, end_beside_readers());
  EXPECT_LT(fastest, 150ms) << "less than the patience with threads that do not come to rest";
}

TEST(resizing, S23_the_number_of_ps_follows_the_machine) {
  test::with_own_procs const fixed;
  if (num_cpus() < 2 || std::getenv("THRUM_MAXPROCS") != nullptr || std::getenv("GOMAXPROCS") != nullptr) {
    GTEST_SKIP() << "there is nothing to follow";
  }
  cpu_set_t all{};
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  run_at(0, [&] {
    int const before = max_procs();
    EXPECT_EQ(before, num_cpus());
    int maker = 0;
    ASSERT_TRUE(test::wait_until([&] { return (maker = test::tid_of("thrum-maker")) != 0; }));
    cpu_set_t one{};
    for (std::size_t cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
      if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
    }
    auto const becomes = [](int procs) { return test::wait_until([procs] { return max_procs() == procs; }); };
    ASSERT_EQ(::sched_setaffinity(maker, sizeof one, &one), 0);
    EXPECT_TRUE(becomes(1));
    ASSERT_EQ(::sched_setaffinity(maker, sizeof all, &all), 0);
    EXPECT_TRUE(becomes(before));
    set_max_procs(before + 1);
    ASSERT_EQ(::sched_setaffinity(maker, sizeof one, &one), 0);
    auto const until = std::chrono::steady_clock::now() + 2500ms;
    EXPECT_TRUE(test::wait_until([&] { return std::chrono::steady_clock::now() > until; }));
    EXPECT_EQ(max_procs(), before + 1) << "what was chosen by hand stays";
  });
}

}  // namespace
}  // namespace thrum
