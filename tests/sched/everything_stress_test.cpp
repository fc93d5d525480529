// SC-23: everything at once, with preemption: channels, select, timers, mutexes, joins, announced and unannounced
// calls, computing, locked goroutines, foreign threads, dumps, and a number of Ps that changes all the time. Nothing is
// lost, and the run ends when main returns.
#include "base/random.h"
#include "support/hogs.h"
#include "support/kept.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/seed.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;

struct world {
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> sent{0};
  std::atomic<std::int64_t> received{0};
  std::atomic<std::int64_t> acts{0};
  chan<int> pipe{4};
  chan<int> rendezvous;
  mutex guard;
  std::int64_t guarded = 0;
  std::atomic<std::int64_t> locked_times{0};
};

// One random act. Every wait for other goroutines has a timeout, so that every goroutine comes to see `stop`.
void act(world& w, rt::random_source& random) {
  ++w.acts;
  switch (random.below(12)) {
    case 0:
      if (select(on_send(w.pipe, 1, [] {}), on_timeout(1ms, [] {})) == 0) ++w.sent;
      break;
    case 1:
    case 2: select(on_recv(w.pipe, [&](std::optional<int>) { ++w.received; }), on_timeout(200us, [] {})); break;
    case 3:
      select(on_send(w.rendezvous, 1, [&] { ++w.sent; }),
             on_recv(w.rendezvous, [&](std::optional<int>) { ++w.received; }), on_timeout(100us, [] {}));
      break;
    case 4: {
      std::lock_guard const lock(w.guard);
      ++w.guarded;
      ++w.locked_times;
      break;
    }
    case 5: EXPECT_EQ(spawn([] { return 5; }).join(), 5); break;
    case 6: sleep_for(std::chrono::microseconds(random.below(300))); break;
    case 7: blocking([&] { ::usleep(random.below(200)); }); break;
    case 8: ::usleep(random.below(200)); break;
    case 9: {
      wait_group some;
      for (int i = 0; i < 3; ++i) some.go([] {});
      some.wait();
      break;
    }
    case 10: {
      timer never(1h);
      EXPECT_TRUE(never.stop());
      break;
    }
    default: test::compute_for(std::chrono::microseconds(random.below(400)));
  }
}

class everything : public test::at_every_width {};
THRUM_AT_EVERY_WIDTH(everything);

TEST_P(everything, SC23_at_once) {
  test::with_slices_of const slices(rt::with_tsan ? 10'000'000us : 300us);
  std::int64_t const wanted = test::scaled(20'000, 500);
  std::uint64_t const seed = test::test_seed();
  run([&] {
    auto const shared = std::make_shared<world>();
    world& w = *shared;
    wait_group all;
    for (std::uint64_t i = 0; i < 12; ++i) {
      all.go([&w, i, seed] {
        rt::random_source random(seed + i);
        while (!w.stop) {
          if (i % 4 == 0) {
            os_thread_lock const lock;
            act(w, random);
          } else {
            act(w, random);
            if (random.below(8) == 0) thrum::yield();
          }
        }
      });
    }
    std::vector<std::thread> outside;
    for (std::uint64_t i = 0; i < 2; ++i) {
      outside.emplace_back([&w, i, seed] {
        rt::random_source random(seed + 100 + i);
        while (!w.stop) act(w, random);
      });
    }
    rt::random_source random(seed + 1000);
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> const nowhere(std::fopen("/dev/null", "w"), std::fclose);
    while (w.acts < wanted) {
      switch (random.below(16)) {
        case 0: static_cast<void>(read_stats()); break;
        case 1:
          if (random.below(20) == 0) dump_goroutines(nowhere.get());
          break;
        case 2:
        case 3: set_max_procs(1 + static_cast<int>(random.below(8))); break;
        default: sleep_for(100us);
      }
    }
    w.stop = true;
    all.wait();
    for (auto& one : outside) {
      blocking([&] { one.join(); });
    }
    while (auto const left = w.pipe.try_recv().value) w.received += *left;
    EXPECT_EQ(w.sent, w.received) << "seed " << seed;
    EXPECT_EQ(w.guarded, w.locked_times);
  });
}

TEST_P(everything, T02_the_run_ends_in_the_middle_of_it) {
  test::with_slices_of const slices(rt::with_tsan ? 10'000'000us : 300us);
  std::uint64_t const seed = test::test_seed();
  for (std::int64_t round = 0; round < test::scaled(40, 4); ++round) {
    auto* const w = &test::kept<world>();  // goroutines that do not end refer to it for good
    run([&] {
      for (std::uint64_t i = 0; i < 8; ++i) {
        go([w, i, seed] {
          rt::random_source random(seed + i);
          for (;;) {
            if (i % 4 == 0) lock_os_thread();
            act(*w, random);
            if (i % 4 == 0) unlock_os_thread();
          }
        });
      }
      go([w, seed] {
        rt::random_source random(seed + 1000);
        for (;;) {
          set_max_procs(1 + static_cast<int>(random.below(8)));
          act(*w, random);
        }
      });
      sleep_for(std::chrono::microseconds(300 + 97 * (round % 20)));
    });
  }
}

// Tokens go round, and each carries the number of times that it was passed on. No token is lost, doubled or delivered
// twice.
TEST(resizing_stress, S23_from_1_to_64_and_back_a_thousand_times) {
  test::run_at(1, [] {
    constexpr int tokens = 8;
    std::atomic<bool> stop{false};
    std::atomic<std::int64_t> handed{0};
    std::atomic<std::int64_t> passed_on{0};  // as the tokens say that came back
    std::atomic<int> back{0};
    chan<std::int64_t> ring(16);
    wait_group all;
    for (int i = 0; i < 32; ++i) {
      all.go([&] {
        while (auto const v = ring.recv()) {
          ++handed;
          if (stop) {
            passed_on += *v;
            ++back;
          } else {
            ring.send(*v + 1);
          }
        }
      });
    }
    for (int i = 0; i < tokens; ++i) ring.send(0);
    for (std::int64_t i = 0; i < test::scaled(1000, 30); ++i) {
      set_max_procs(64);
      thrum::yield();
      set_max_procs(1);
      thrum::yield();
    }
    stop = true;
    EXPECT_TRUE(test::wait_until([&] { return back == tokens; }));
    ring.close();  // no goroutine sends any more
    all.wait();
    EXPECT_EQ(back, tokens);
    EXPECT_EQ(handed, passed_on + tokens);
    EXPECT_GT(passed_on, 0);
    EXPECT_TRUE(test::wait_until([] { return num_goroutines() == 1; }));  // one may be interrupted behind its last word
  });
}

}  // namespace
}  // namespace thrum
