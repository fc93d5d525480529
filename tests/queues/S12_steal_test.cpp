// S12: stealing on the running scheduler, with the exact numbers of a scene that is held still.
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using test::run_at;
using test::spin_until;
using test::this_p;
using test::this_sched;

struct steal_case {
  int queued;      // goroutines in the victim's run queue
  int taken;       // of them, by the thief
  int runs_first;  // the one that the thief runs
};

class stealing : public testing::TestWithParam<steal_case> {};

struct observation {
  std::uint32_t queued = 0;
  int runs_first = -1;
  std::uint32_t left_to_victim = 0;
  bool next_is_left = false;
  std::uint32_t queued_by_thief = 0;
  std::uint64_t stolen = 0;
};

// In main at P=2: queues goroutines here, one more in runnext, and then lets the other P look for work.
observation watch_a_thief(int queued) {
  // The other P is busy while the scene is set, so no P is idle and no M searches for work.
  std::atomic<bool> begun{false};
  std::atomic<bool> scene_is_set{false};
  std::atomic<rt::P*> thief{nullptr};
  wait_group all;
  all.go([&] {
    thief = &this_p();
    begun = true;
    EXPECT_TRUE(spin_until([&] { return scene_is_set.load(); }));
  });
  EXPECT_TRUE(spin_until([&] { return begun.load(); }));
  std::uint64_t const stolen_before = thief.load()->counters.stolen.load(rt::relaxed);
  std::atomic<bool> over{false};
  std::atomic<int> first{-1};
  for (int i = 0; i <= queued; ++i) {  // the last one stays in runnext
    all.go([&, i] {
      int none = -1;
      first.compare_exchange_strong(none, i);
      EXPECT_TRUE(spin_until([&] { return over.load(); }));
    });
  }
  rt::P const& mine = this_p();
  std::uint32_t const waiting = mine.queue.size();
  scene_is_set = true;
  EXPECT_TRUE(spin_until([&] { return first != -1; }));
  observation const seen{waiting,
                         first,
                         mine.queue.size(),
                         static_cast<bool>(mine.queue.peek_next()),
                         thief.load()->queue.size(),
                         thief.load()->counters.stolen.load(rt::relaxed) - stolen_before};
  over = true;
  all.wait();
  return seen;
}

TEST_P(stealing, S12_the_thief_takes_the_oldest_half_runs_the_last_of_it_and_queues_the_rest) {
  test::in_run_order const undisturbed;
  run_at(2, [&] {
    steal_case const expected = GetParam();
    // A thread that sleeps in the kernel loses its P, which spoils the scene. Under an emulator even a thread that
    // computes may lose it.
    observation seen;
    std::uint64_t taken_from_sleepers = 0;
    do {
      taken_from_sleepers = this_sched().unannounced.count.load(rt::relaxed);
      seen = watch_a_thief(expected.queued);
    } while (this_sched().unannounced.count.load(rt::relaxed) != taken_from_sleepers);
    EXPECT_EQ(seen.queued, static_cast<std::uint32_t>(expected.queued));
    EXPECT_EQ(seen.runs_first, expected.runs_first);
    EXPECT_EQ(seen.queued_by_thief, static_cast<std::uint32_t>(expected.taken - 1));
    EXPECT_EQ(seen.left_to_victim, static_cast<std::uint32_t>(expected.queued - expected.taken));
    EXPECT_TRUE(seen.next_is_left) << "runnext is left alone";
    EXPECT_EQ(seen.stolen, static_cast<std::uint64_t>(expected.taken));
  });
}

INSTANTIATE_TEST_SUITE_P(of, stealing,
                         testing::Values(steal_case{1, 1, 0}, steal_case{2, 1, 0}, steal_case{9, 5, 4},
                                         steal_case{10, 5, 4}, steal_case{256, 128, 127}),
                         [](auto const& one) { return std::to_string(one.param.queued); });

class stealing_everywhere : public test::at_every_width {};

TEST_P(stealing_everywhere, S12_work_of_one_producer_reaches_idle_ps_exactly_once) {
  constexpr int count = 5000;
  std::vector<std::atomic<int>> runs(count);
  run([&] {
    wait_group all;
    for (int i = 0; i < count; ++i) {
      all.go([&, i] { ++runs[static_cast<std::size_t>(i)]; });
    }
    all.wait();
    std::uint64_t stolen = 0;
    for (auto const& p : this_sched().procs) stolen += p->counters.stolen.load(rt::relaxed);
    if (procs() == 1) {
      EXPECT_EQ(stolen, 0U);
    }
  });
  for (auto const& one : runs) ASSERT_EQ(one.load(), 1);
}

THRUM_AT_EVERY_WIDTH(stealing_everywhere);

}  // namespace
}  // namespace thrum
