// S41: a function run once on every P at its next safe point.
#include "sched/safe_point.h"
#include "support/goroutines.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <gtest/gtest.h>

namespace thrum {
namespace {

// How often each P was visited, and whether any user code ran there at that moment.
struct visits {
  explicit visits(int procs) : of(new std::atomic<int>[static_cast<std::size_t>(procs)]()) {}
  std::unique_ptr<std::atomic<int>[]> of;
};

void visit_all(visits& seen) {
  rt::M& m = *rt::current_m();
  rt::enter_runtime(m);
  rt::for_each_proc(
      m, [](rt::P& p, void* out) noexcept { ++static_cast<visits*>(out)->of[static_cast<std::size_t>(p.id)]; }, &seen);
  rt::leave_runtime(m);
}

class safe_points : public test::at_every_width {
 protected:
  static void expect_each(visits const& seen, int times) {
    for (int i = 0; i < procs(); ++i) EXPECT_EQ(seen.of[static_cast<std::size_t>(i)].load(), times) << "P " << i;
  }

 private:
  test::with_own_procs fixed_;
};

TEST_P(safe_points, S41_idle_ps_are_visited_exactly_once) {
  run([&] {
    visits seen(procs());
    visit_all(seen);
    expect_each(seen, 1);
  });
}

TEST_P(safe_points, S41_running_ps_are_visited_exactly_once_when_they_next_come_by) {
  run([&] {
    std::atomic<bool> over{false};
    std::atomic<int> running{0};
    wait_group all;
    for (int i = 0; i < 2 * procs(); ++i) {
      all.go([&] {
        ++running;
        while (!over) thrum::yield();
      });
    }
    ASSERT_TRUE(test::wait_until([&] { return running == 2 * procs(); }));
    // A round takes until the kernel has run the thread of every P, which takes long with 64 threads on a busy machine.
    std::int64_t const rounds = test::scaled(procs() > 8 ? 5 : 30, 5);
    visits seen(procs());
    for (std::int64_t round = 1; round <= rounds; ++round) {
      visit_all(seen);
      expect_each(seen, static_cast<int>(round));
    }
    over = true;
    all.wait();
  });
}

TEST_P(safe_points, S41_ps_that_come_and_go_are_visited_exactly_once) {
  run([&] {
    std::int64_t const rounds = test::scaled(100, 10);
    visits seen(procs());
    for (std::int64_t round = 1; round <= rounds; ++round) {
      wait_group all;
      for (int i = 0; i < procs(); ++i) all.go([] { thrum::yield(); });
      visit_all(seen);  // while the others start, run and go idle
      all.wait();
      expect_each(seen, static_cast<int>(round));
    }
  });
}

TEST_P(safe_points, S41_several_callers_at_once_get_a_round_each) {
  run([&] {
    constexpr int callers = 4;
    std::int64_t const rounds = test::scaled(20, 3);
    visits seen(procs());
    wait_group all;
    for (int i = 0; i < callers; ++i) {
      all.go([&] {
        for (std::int64_t round = 0; round < rounds; ++round) {
          visit_all(seen);
          thrum::yield();
        }
      });
    }
    all.wait();
    expect_each(seen, static_cast<int>(callers * rounds));
  });
}

TEST_P(safe_points, S41_what_the_function_wrote_is_seen_by_the_caller) {
  run([&] {
    struct plain_words {
      std::unique_ptr<int[]> of;
    } written{std::make_unique<int[]>(static_cast<std::size_t>(procs()))};
    wait_group all;
    for (int i = 0; i < procs(); ++i) all.go([] { thrum::yield(); });
    rt::M& m = *rt::current_m();
    rt::enter_runtime(m);
    rt::for_each_proc(
        m,
        [](rt::P& p, void* out) noexcept {
          static_cast<plain_words*>(out)->of[static_cast<std::size_t>(p.id)] = p.id + 1;
        },
        &written);
    rt::leave_runtime(m);
    for (int i = 0; i < procs(); ++i)
      EXPECT_EQ(written.of[static_cast<std::size_t>(i)], i + 1);  // no atomics: TSan watches
    all.wait();
  });
}

TEST_P(safe_points, S41_stats_are_read_through_it) {
  run([&] {
    wait_group all;
    for (int i = 0; i < 100; ++i) all.go([] { thrum::yield(); });
    for (int i = 0; i < 20; ++i) {
      stats const now = read_stats();
      EXPECT_EQ(static_cast<int>(now.procs.size()), procs());
      thrum::yield();
    }
    all.wait();
    std::uint64_t yields = 0;
    for (auto const& p : read_stats().procs) yields += p.yields;
    EXPECT_GE(yields, 120U);
  });
}

THRUM_AT_EVERY_WIDTH(safe_points);

// Nor does it cost them their slice: they are interrupted for a look, and go on.
TEST(safe_points_beside_loops, S41_loops_without_calls_are_not_waited_for_until_their_slice_ends) {
  test::delays_only const quiet;
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  test::with_slices_of const slices(std::chrono::seconds(10));  // and twenty of them are longer than a test may take
  test::run_at(3, [] {
    std::atomic<int> looping{0};
    for (int i = 0; i < 2; ++i) {
      go([&] {
        ++looping;
        test::loop_for_ever();
      });
    }
    ASSERT_TRUE(test::wait_until([&] { return looping == 2; }));
    for (int i = 0; i < 20; ++i) static_cast<void>(read_stats());
    EXPECT_EQ(test::preempted(read_stats()), 0U);
  });
}

}  // namespace
}  // namespace thrum
