// S12: stealing on the running scheduler, with the exact numbers of a scene that is held still.
#include "support/goroutines.h"
#include "support/run_at.h"
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
  int queued;      // goroutines in the victim's ring
  int taken;       // of them, by the thief
  int runs_first;  // the one that the thief runs
};

class stealing : public testing::TestWithParam<steal_case> {};

TEST_P(stealing, S12_the_thief_takes_the_oldest_half_runs_the_last_of_it_and_rings_the_rest) {
  int const queued = GetParam().queued;
  int const taken = GetParam().taken;
  int const runs_first = GetParam().runs_first;
  run_at(2, [=] {
    // The other P is busy while the scene is set: nobody is idle, nobody looks.
    std::atomic<bool> begun{false};
    std::atomic<bool> scene_is_set{false};
    thrum::go([&] {
      begun = true;
      EXPECT_TRUE(spin_until([&] { return scene_is_set.load(); }));
    });
    ASSERT_TRUE(spin_until([&] { return begun.load(); }));
    std::atomic<bool> over{false};
    std::atomic<int> first{-1};
    std::atomic<rt::P*> thief{nullptr};
    wait_group all;
    for (int i = 0; i <= queued; ++i) {  // the last one stays in runnext
      all.go([&, i] {
        if (first == -1) {
          thief = &this_p();
          first = i;
        }
        EXPECT_TRUE(spin_until([&] { return over.load(); }));
      });
    }
    rt::P& mine = this_p();
    ASSERT_EQ(mine.queue.size(), static_cast<std::uint32_t>(queued));
    scene_is_set = true;
    ASSERT_TRUE(spin_until([&] { return first != -1; }));
    EXPECT_EQ(first.load(), runs_first);
    ASSERT_NE(thief.load(), &mine);
    EXPECT_EQ(thief.load()->queue.size(), static_cast<std::uint32_t>(taken - 1));
    EXPECT_EQ(mine.queue.size(), static_cast<std::uint32_t>(queued - taken));
    EXPECT_TRUE(mine.queue.peek_next()) << "runnext is left alone";
    EXPECT_EQ(thief.load()->counters.stolen.load(rt::relaxed) - 1, static_cast<std::uint64_t>(taken))
        << "the 1: the goroutine that kept it busy, once stolen from runnext";
    over = true;
    all.wait();
  });
}

INSTANTIATE_TEST_SUITE_P(of, stealing,
                         testing::Values(steal_case{1, 1, 0}, steal_case{2, 1, 0}, steal_case{9, 5, 4},
                                         steal_case{10, 5, 4}, steal_case{256, 128, 127}),
                         [](auto const& one) { return std::to_string(one.param.queued); });

class stealing_everywhere : public test::at_every_width {};

TEST_P(stealing_everywhere, S12_work_of_one_producer_reaches_whoever_can_run_it_exactly_once) {
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
