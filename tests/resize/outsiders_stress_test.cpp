// S23: threads that are no Ms stop the world again and again, mostly without the patience to wait until all Ps have
// stopped. Goroutines and threads from outside go on beside them: nothing is lost.
#include "base/random.h"
#include "sched/world.h"
#include "support/goroutines.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/seed.h"
#include "support/slices.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;

constexpr int tokens = 4;

struct ring {
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> stops{0};
  chan<int> places{tokens};

  // Takes a token and puts it back. `between` is called meanwhile.
  template <class F>
  void go_round(F between) const {
    while (!stop) {
      int const token = places.recv().value();
      between();
      places.send(token);
    }
  }
  void stop_the_world(rt::Sched& s, std::uint64_t seed) {
    constexpr std::uint32_t patience_ns_max = 1'000'000;
    for (rt::random_source random(seed); !stop; ++stops) {
      std::int64_t const patience_ns = random.below(3) == 0 ? 0 : random.below(patience_ns_max);
      rt::stopped_world const world(s, patience_ns);
    }
  }
};

// What a goroutine may be doing when the world is to stop.
void do_something(rt::random_source& random) {
  switch (random.below(6)) {
    case 0: static_cast<void>(read_stats()); break;
    case 1: blocking([&] { ::usleep(random.below(200)); }); break;
    case 2: ::usleep(random.below(200)); break;
    case 3: sleep_for(std::chrono::microseconds(random.below(200))); break;
    case 4: test::compute_for(std::chrono::microseconds(random.below(500))); break;
    default: static_cast<void>(set_max_procs(1 + static_cast<int>(random.below(8))));
  }
}

class impatient_outsiders : public test::at_every_width {};
THRUM_AT_EVERY_WIDTH(impatient_outsiders);

TEST_P(impatient_outsiders, S23_nothing_is_lost_beside_them) {
  test::with_slices_of const slices(rt::with_tsan ? 10'000'000us : 300us);
  test::with_own_procs const fixed;
  std::int64_t const wanted = test::scaled(3'000, 200);
  std::uint64_t const seed = test::test_seed();
  run([&] {
    ring all;
    wait_group goroutines;
    for (std::uint64_t i = 0; i < 6; ++i) {
      goroutines.go([&all, i, seed] {
        rt::random_source random(seed + i);
        all.go_round([&] { do_something(random); });
      });
    }
    std::vector<std::thread> outside;
    for (std::uint64_t i = 0; i < 2; ++i) {
      outside.emplace_back([&all, &s = test::this_sched(), i, seed] { all.stop_the_world(s, seed + 100 + i); });
      outside.emplace_back([&all] { all.go_round([] {}); });
    }
    for (int i = 0; i < tokens; ++i) all.places.send(i);
    while (all.stops < wanted) sleep_for(100us);
    all.stop = true;
    goroutines.wait();
    for (auto& one : outside) {
      blocking([&] { one.join(); });
    }
    EXPECT_EQ(all.places.size(), tokens) << "seed " << seed;
  });
}

}  // namespace
}  // namespace thrum
