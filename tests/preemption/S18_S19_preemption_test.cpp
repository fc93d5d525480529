// S18, S19: goroutines that do not come to the scheduler by themselves, and the others beside them.
#include "core/current.h"
#include "support/busy_machine.h"
#include "support/goroutines.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/tries.h"
#include "support/wait_until.h"
#include "support/with_debug.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::loop_for_ever;
using test::preempted;
using test::run_at;
using test::run_with;
using test::with_slices_of;

TEST(preemption, S18_the_seeds_own_program) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  with_slices_of const slices(10ms);
  bool done = false;
  run_at(1, [&] {
    go([] { loop_for_ever(); });
    sleep_for(1s);
    done = true;
  });
  EXPECT_TRUE(done);
}

TEST(preemption, S18_four_loops_at_two_ps) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  with_slices_of const slices(10ms);
  run_at(2, [] {
    for (int i = 0; i < 4; ++i) go([] { loop_for_ever(); });
    for (int i = 0; i < 10; ++i) sleep_for(1ms);
    EXPECT_GT(preempted(read_stats()), 0U);
  });
}

// How late one is that sleeps for a millisecond again and again, for so long. When others have the CPUs is not counted.
test::spread lateness_beside_a_loop(std::chrono::nanoseconds for_so_long) {
  std::vector<std::chrono::nanoseconds> late;
  run_at(1, [&] {
    std::atomic<bool> stop{false};
    wait_group all;
    all.go([&] {
      while (!stop) rt::cpu_relax();
    });
    for (auto const end = clock::now() + for_so_long; clock::now() < end;) {
      auto const withheld = test::waited_for_a_cpu();
      auto const until = clock::now() + 1ms;
      sleep_until(until);
      std::chrono::nanoseconds const by = clock::now() - until;
      late.push_back(std::max(by - (test::waited_for_a_cpu() - withheld), 0ns));
    }
    stop = true;
    all.wait();
  });
  return test::spread_of(late);
}

// SC-19.
TEST(preemption, S18_SC_19_a_sleeper_beside_a_loop_is_not_forgotten) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  with_slices_of const slices(10ms);
  auto const usual = 25ms * test::slowness();
  auto const most = 60ms * test::slowness();
  auto const seen = test::in_one_of(
      8, [] { return lateness_beside_a_loop(std::chrono::milliseconds(test::scaled(2'000, 500))); },
      [=](test::spread const& s) { return s.median <= usual && s.longest <= most; });
  EXPECT_LE(seen.median, usual) << seen;
  EXPECT_LE(seen.longest, most) << seen;
}

// Two calls of the runtime, neither of which ever waits.
void pass_one_through(chan<int> const& c) {
  static_cast<void>(c.try_send(1));
  static_cast<void>(c.try_recv());
}

// The signal finds the mark set, most of the time: it is made good when the mark is cleared.
TEST(preemption, S18_a_loop_of_calls_that_never_wait_is_preempted_too) {
  with_slices_of const slices(1ms);
  run_at(1, [] {
    go([] {
      for (chan<int> const c(1);;) pass_one_through(c);
    });
    for (int i = 0; i < 10; ++i) sleep_for(1ms);
    EXPECT_GT(preempted(read_stats()), 0U);
  });
}

TEST(preemption, S18_without_the_signal_it_is_seen_when_the_runtime_is_left) {
  with_slices_of const slices(1ms);
  run_with({.max_procs = 1, .async_preemption = false}, [] {
    std::atomic<bool> stop{false};
    wait_group all;
    all.go([&] {
      for (chan<int> const c(1); !stop;) pass_one_through(c);
    });
    for (int i = 0; i < 10; ++i) sleep_for(1ms);
    EXPECT_GT(preempted(read_stats()), 0U);
    stop = true;
    all.wait();
  });
}

TEST(preemption, S18_asyncpreemptoff) {
  test::delays_only const quiet;
  test::with_debug const meanwhile("asyncpreemptoff=1,slice=1000");
  run_at(1, [] {
    bool ended = false;
    go([&] {
      test::compute_for(20ms);
      ended = true;
    });
    thrum::yield();
    EXPECT_TRUE(ended) << "a loop without calls, of twenty slices, was interrupted for main";
  });
}

// Three goroutines take turns in calls that never wait, because their channels have free places. Returns on how many
// threads they ran. A goroutine that was paused keeps its own thread.
int threads_of_three_in_turns() {
  std::mutex guard;
  std::set<std::thread::id> seen_on;
  std::atomic<int> last{-1};
  std::atomic<int> turns{0};
  wait_group all;
  for (int self = 0; self < 3; ++self) {
    all.go([&, self] {
      chan<int> own(1);
      chan<int> const never;
      while (turns < 30) {
        own.send(self);
        EXPECT_EQ(select(on_recv(own), on_recv(never)), 0U);
        if (last.exchange(self) == self) continue;
        ++turns;
        std::lock_guard const lock(guard);
        seen_on.insert(std::this_thread::get_id());
      }
    });
  }
  all.wait();
  return static_cast<int>(seen_on.size());
}

// Should a request come just when one leaves a call, its thread is paused all the same: so in one of some tries.
TEST(preemption, S18_one_in_a_call_that_may_switch_makes_room_without_a_thread_being_paused) {
  test::delays_only const quiet;
  test::with_debug const meanwhile("asyncpreemptoff=1,slice=1000");
  run_at(1, [] {
    int fewest = 3;
    for (int tries = 0; tries < 50 && fewest == 3; ++tries) {
      spawn([&] { fewest = std::min(fewest, threads_of_three_in_turns()); }).join();
    }
    EXPECT_LT(fewest, 3);
  });
}

// Asks the caller as sysmon does.
void ask_to_make_room() {
  rt::M& m = *rt::current_m();
  m.pause.ask_for(m.p->schedtick.load(rt::relaxed));
  m.attention.fetch_or(rt::m_attend::pause, rt::relaxed);
}

// The goroutine that made room is in the global queue, and the next goroutine on its P computes. So the idle P is
// woken.
TEST(preemption, S18_S19_one_that_made_room_goes_on_where_a_p_is_idle) {
  test::delays_only const quiet;
  run_at(2, [] {
    std::atomic<bool> goes_on{false};
    std::atomic<bool> seen{false};
    wait_group all;
    all.go([&] {
      chan<int> next;
      all.go([&, next] {
        EXPECT_EQ(next.recv(), 1);
        constexpr std::int64_t less_than_a_slice_ns = 5'000'000'000;  // the end of a slice would let it run as well
        seen = test::spin_until([&] { return goes_on.load(); }, less_than_a_slice_ns);
      });
      auto const& s = test::this_sched();
      EXPECT_TRUE(test::wait_until([&] {
        return test::waiting_for(rt::wait_reason::chan_receive) == 1 && s.idle.count() == 1 && s.idle.spinning() == 0;
      }));
      chan<int> has_room(1);
      next.send(1);  // the other goroutine is next on this P, and no P is woken for it
      ask_to_make_room();
      has_room.send(1);
      goes_on = true;
    });
    all.wait();
    EXPECT_TRUE(seen);
  });
}

TEST(preemption, S18_a_loop_that_keeps_no_other_waiting_is_left_alone) {
  test::delays_only const quiet;
  with_slices_of const slices(1ms);
  run_at(2, [] {
    std::atomic<bool> stop{false};
    wait_group all;
    all.go([&] {
      while (!stop) rt::cpu_relax();
    });
    for (int i = 0; i < 3; ++i) sleep_for(10ms);  // an idle P is there for that
    stop = true;
    all.wait();
    EXPECT_LE(preempted(read_stats()), 10U) << "of thirty slices: when main's time came, its timer was on that P";
  });
}

TEST(preemption, S18_main_is_preempted_like_any_other) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  with_slices_of const slices(1ms);
  run_at(1, [] {
    std::atomic<bool> ran{false};
    go([&] { ran = true; });
    while (!ran) rt::cpu_relax();
  });
}

TEST(preemption, S18_one_that_was_joined_in_place_is_preempted_with_its_joiner) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  with_slices_of const slices(1ms);
  run_at(1, [] {
    std::atomic<bool> ran{false};
    auto child = spawn([&] {
      while (!ran) rt::cpu_relax();
      return 7;
    });
    go([&] { ran = true; });
    EXPECT_EQ(child.join(), 7);
  });
}

// SC-20. Turns are counted, not what was done in them: the machine may give one of the threads less of a CPU.
TEST(preemption, S19_SC_20_loops_on_one_p_get_equal_shares) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  with_slices_of const slices(2ms);
  run_at(1, [] {
    static std::array<std::atomic<int>, 4> turns;
    auto const& tick = test::this_p().schedtick;
    for (auto& mine : turns) {
      mine = 0;
      go([&] {
        for (std::uint32_t last = 0;;) {
          if (std::uint32_t const now = tick.load(rt::relaxed); now != std::exchange(last, now)) ++mine;
        }
      });
    }
    auto const least = [] { return std::min_element(turns.begin(), turns.end())->load(); };
    EXPECT_TRUE(test::wait_until([&] {
      sleep_for(10ms);
      return least() >= 20;
    }));
    int const most = std::max_element(turns.begin(), turns.end())->load();
    EXPECT_LT(most, 2 * least());
  });
}

struct counted {
  std::uint64_t least_at_half_time;
  std::uint64_t least;
  std::uint64_t most;
};

// What four loops without calls have counted in 400 ms, and the one that lagged behind in 200 ms.
counted count_at_one_p() {
  counted seen{};
  run_at(1, [&] {
    std::array<std::atomic<std::uint64_t>, 4> counters{};
    std::atomic<bool> stop{false};
    wait_group all;
    for (auto& mine : counters) {
      all.go([&] {
        while (!stop.load(std::memory_order_relaxed)) mine.fetch_add(1, std::memory_order_relaxed);
      });
    }
    sleep_for(200ms);
    seen.least_at_half_time = *std::min_element(counters.begin(), counters.end());
    sleep_for(200ms);
    auto const [least, most] = std::minmax_element(counters.begin(), counters.end());
    seen.least = *least;
    seen.most = *most;
    stop = true;
    all.wait();
  });
  return seen;
}

// SC-20 itself, with slices as users have them. The machine may give one of the threads less of a CPU.
TEST(preemption, S19_SC_20_four_counters_get_on_alike) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  with_slices_of const slices(10ms);
  std::uint64_t const factor = test::slowness() == 1 ? 2 : 5;
  auto const seen = test::in_one_of(
      8, count_at_one_p, [=](counted const& c) { return c.least_at_half_time != 0 && c.most <= factor * c.least; });
  EXPECT_NE(seen.least_at_half_time, 0U);
  EXPECT_LE(seen.most, factor * seen.least);
}

// There are as many loops as may be paused at once (pauses::max), and two that run. From then on other goroutines
// are started only now and then. The limit of threads makes the number small, except in the long form of the test.
TEST(preemption, S19_everyone_has_a_turn_beside_as_many_loops_as_may_be_paused) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  with_slices_of const slices(500us);
  options const few{.max_procs = 2, .max_threads = 24};
  options const many{.max_procs = 2};
  run_with(test::is_long() ? many : few, [] {
    int const loops = test::is_long() ? 300 : test::this_sched().pauses.max() + 2;
    for (int i = 1; i < loops; ++i) go([] { loop_for_ever(); });
    chan<int> const answers;
    go([=] { answers.send(42); });  // has not started, and stands behind all of them,
    go([] { loop_for_ever(); });    // but for this one, which took its place in runnext
    EXPECT_EQ(answers.recv(), 42);
  });
}

}  // namespace
}  // namespace thrum
