// Work spreads over the idle Ps at once (S13, SC-13, SC-14, SC-16). The limits are those of the rows, which are some
// ten times what Go shows. The machine may be busy with other programs, so a median has ten tries.
#include "core/current.h"
#include "core/sched.h"
#include "os/clock.h"
#include "os/thread.h"
#include "support/baton.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/seed.h"
#include "support/wait_until.h"
#include <thrum/go.h>
#include <thrum/runtime.h>
#include <thrum/wait_group.h>

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <time.h>

namespace thrum::test {
namespace {

constexpr std::int64_t us = 1'000;
constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t slowness = rt::with_asan || rt::with_tsan || rt::debug_checks ? 10 : 1;

struct latencies {
  std::vector<std::int64_t> each_ns;

  [[nodiscard]] std::int64_t median_ns() {
    auto const middle = each_ns.begin() + static_cast<std::ptrdiff_t>(each_ns.size() / 2);
    std::nth_element(each_ns.begin(), middle, each_ns.end());
    return *middle;
  }
  [[nodiscard]] std::int64_t max_ns() const { return *std::max_element(each_ns.begin(), each_ns.end()); }
};

// measure() returns latencies. Checks the best median and the best maximum of up to ten tries. If an event never comes,
// measure() itself fails.
template <class Measure>
void expect_quick(Measure measure, std::int64_t median_limit_ns, std::int64_t max_limit_ns) {
  std::int64_t best_median = INT64_MAX;
  std::int64_t best_max = INT64_MAX;
  for (int attempt = 0; attempt < 10 && (best_median > median_limit_ns || best_max > max_limit_ns); ++attempt) {
    latencies measured = measure();
    ASSERT_FALSE(measured.each_ns.empty());
    best_median = std::min(best_median, measured.median_ns());
    best_max = std::min(best_max, measured.max_ns());
    testing::Test::RecordProperty("median_us", std::to_string(measured.median_ns() / us));
    testing::Test::RecordProperty("max_us", std::to_string(measured.max_ns() / us));
  }
  EXPECT_LE(best_median, median_limit_ns);
  EXPECT_LE(best_max, max_limit_ns);
}

class parallelism : public testing::TestWithParam<int> {
 protected:
  [[nodiscard]] static int procs() { return GetParam(); }
  // The rows' medians hold where each P has a CPU; beyond, only the maximum says something.
  [[nodiscard]] static std::int64_t median_limit_ns() { return (procs() <= num_cpus() ? 1 * ms : 100 * ms) * slowness; }
  [[nodiscard]] static std::int64_t max_limit_ns() {
    return (procs() <= num_cpus() ? 200 * ms : 2'000 * ms) * slowness;
  }
};

THRUM_AT_WIDTHS(parallelism, 2, 4, 8);

// One goroutine starts procs-1 others and never lets go of its P; all of them are to be seen running at once.
std::int64_t time_until_all_run(int procs) {
  rt::atomic<int> running{0};
  rt::atomic<bool> over{false};
  wait_group ended;
  std::int64_t const began_ns = rt::os::monotonic_ns();
  for (int i = 1; i < procs; ++i) {
    ended.go([&] {
      running.fetch_add(1, rt::relaxed);
      while (!over.load(rt::relaxed)) rt::os::yield_thread();  // keeps its P
    });
  }
  bool const all = spin_until([&] { return running.load(rt::relaxed) == procs - 1; });
  std::int64_t const took_ns = rt::os::monotonic_ns() - began_ns;
  over.store(true, rt::relaxed);
  ended.wait();
  EXPECT_TRUE(all) << running.load(rt::relaxed) << " of " << procs - 1 << " got a P";
  return took_ns;
}

TEST_P(parallelism, SC14_goroutines_of_one_that_never_yields_all_run_at_once) {
  auto const measure = [] {
    latencies measured;
    run_at(procs(), [&] {
      for (std::int64_t i = scaled(300, 5); i > 0; --i) measured.each_ns.push_back(time_until_all_run(procs()));
    });
    return measured;
  };
  expect_quick(measure, median_limit_ns(), max_limit_ns());
}

// As SC-14 from the first moment of run(), when no M but the first exists.
TEST_P(parallelism, SC14_also_when_their_threads_must_still_be_made) {
  auto const measure = [] {
    latencies measured;
    for (std::int64_t i = scaled(10, 3); i > 0; --i) {
      run_at(procs(), [&] { measured.each_ns.push_back(time_until_all_run(procs())); });
    }
    return measured;
  };
  expect_quick(measure, 100 * ms * slowness, max_limit_ns());
}

// Submits at random distances by a goroutine that spins: now the other Ps sleep, now they search, now they are just
// giving up.
TEST_P(parallelism, SC16_a_runnable_goroutine_and_an_idle_P_never_stay_side_by_side) {
  std::uint64_t const seed = test_seed();
  auto const measure = [&] {
    latencies measured;
    measured.each_ns.reserve(100'000);
    run_at(procs(), [&] {
      rt::random_source random(seed);
      rt::atomic<std::int64_t> submitted_ns{0};
      rt::atomic<std::int64_t> latency_ns{0};
      std::int64_t const until_ns = rt::os::monotonic_ns() + scaled(1'000, 100) * ms;
      while (rt::os::monotonic_ns() < until_ns) {
        std::int64_t const submit_ns = rt::os::monotonic_ns() + random.below(200 * us);
        while (rt::os::monotonic_ns() < submit_ns) rt::cpu_relax();
        latency_ns.store(-1, rt::relaxed);
        submitted_ns.store(rt::os::monotonic_ns(), rt::relaxed);
        go([&] { latency_ns.store(rt::os::monotonic_ns() - submitted_ns.load(rt::relaxed), rt::release); });
        ASSERT_TRUE(spin_until([&] { return latency_ns.load(rt::acquire) >= 0; })) << "it never ran";
        measured.each_ns.push_back(latency_ns.load(rt::relaxed));
      }
    });
    return measured;
  };
  // One goroutine at a time: it finds a CPU however many Ps there are.
  expect_quick(measure, 1 * ms * slowness, 200 * ms * slowness);
}

// Bursts of short goroutines, while a foreign thread samples the number of spinning Ms all the time. It reads two words
// that change between its reads, and the last M that searches may take its P back although other Ms search (as in Go).
// So the thread may sometimes see one too many, but not as a rule, and it never sees more spinning Ms than Ps.
TEST_P(parallelism, SC13_at_most_half_of_the_busy_Ps_search) {
  std::int64_t looks = 0;
  std::int64_t too_many = 0;
  std::int64_t worst = 0;
  std::int64_t searching = 0;
  auto const sample = [&] {
    looks = too_many = worst = searching = 0;
    rt::Sched& s = rt::current_m()->sched;
    rt::atomic<bool> over{false};
    std::thread sampler([&] {
      while (!over.load(rt::relaxed)) {
        std::int64_t const spinning = s.idle.spinning();
        std::int64_t const busy = s.procs.size() - s.idle.count();
        if (s.idle.spinning() != spinning) continue;  // they changed between the reads
        ++looks;
        if (spinning > 0) ++searching;
        if (2 * spinning > busy + 1) ++too_many;
        worst = std::max(worst, spinning);
        timespec const pause{.tv_sec = 0, .tv_nsec = 20 * us};
        ::nanosleep(&pause, nullptr);
      }
    });
    rt::random_source random(test_seed());
    std::int64_t const until_ns = rt::os::monotonic_ns() + scaled(1'500, 300) * ms;
    while (rt::os::monotonic_ns() < until_ns) {
      wait_group burst;
      for (std::uint32_t i = random.below(4 * static_cast<std::uint32_t>(procs())); i > 0; --i) {
        burst.go([pause = random.below(400)] {
          for (std::uint32_t k = 0; k < pause; ++k) rt::cpu_relax();
        });
      }
      burst.wait();
    }
    over.store(true, rt::relaxed);
    sampler.join();
  };
  int tries = 0;  // an M that loses its CPU while it searches stays counted while others go to rest
  do run_at(procs(), sample);
  while (too_many > looks / 20 && ++tries < 5);
  RecordProperty("looks", std::to_string(looks));
  RecordProperty("searching", std::to_string(searching));
  RecordProperty("too_many", std::to_string(too_many));
  EXPECT_GT(looks, 10);
  EXPECT_LE(worst, procs());
  EXPECT_LE(too_many, looks / 20) << "searching in " << searching << " of " << looks << " looks, worst " << worst;
}

}  // namespace
}  // namespace thrum::test
