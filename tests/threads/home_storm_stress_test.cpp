// T08: no wake-up of a resident is lost. Pairs of goroutines hand a baton to and fro, at home or not, while other
// goroutines block, lock themselves to their threads, compute and stop the world. So the home M of a goroutine that is
// woken may rest, search for work, be the timekeeper or have just given its P up.
//
// A lost wake-up shows as in sched/lost_wakeup_stress_test.cpp: by the scheduler's own check, or by the watchdog.
#include "sched/world.h"
#include "support/baton.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/seed.h"
#include "threads/home_calls.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <thread>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

void think(rt::random_source& random) {
  std::uint64_t const what = random.next();
  switch (what % 512) {
    case 0:
    case 1:
    case 2: sleep_for(std::chrono::microseconds((what >> 32U) % 50)); break;
    case 3:
    case 4:
    case 5:
    case 6:
    case 7:
    case 8: thrum::yield(); break;
    case 9:
    case 10:
    case 11:
    case 12:
    case 13:
    case 14:
      for (std::uint64_t i = 0; i < (what >> 32U) % 512; ++i) rt::cpu_relax();
      break;
    default: break;
  }
}

struct pair {
  baton there;
  baton back;
};

void take(baton& b, rt::random_source& random) {
  if (random.next() % 8 == 0) {
    b.take();
  } else {
    call_at_home([&] { b.take(); });
  }
}

class home_storm : public at_every_width {
 protected:
  home_storm() : seed_(test_seed()) {}
  [[nodiscard]] rt::random_source nth(std::uint64_t n) const { return nth_random(seed_, n); }

  // The goroutines of each pair hand their baton to and fro `rounds` times. The second one does `act` before it hands
  // the baton back.
  template <class F>
  void start(wait_group& all, std::deque<pair>& pairs, std::int64_t rounds, F act) const {
    std::uint64_t n = 0;
    for (pair& its : pairs) {
      all.go([&its, rounds, random = nth(n)]() mutable {
        for (std::int64_t i = 0; i < rounds; ++i) {
          its.there.pass();
          think(random);
          take(its.back, random);
        }
      });
      all.go([&its, rounds, act, random = nth(n + 1000)]() mutable {
        for (std::int64_t i = 0; i < rounds; ++i) {
          take(its.there, random);
          act(random);
          its.back.pass();
        }
      });
      ++n;
    }
  }

 private:
  std::uint64_t const seed_;
};
THRUM_AT_WIDTHS(home_storm, 1, 2, 4, 16, 64);

TEST_P(home_storm, T08_pairs_that_wake_each_other) {
  run([&] {
    int const pairs_count = 2 * procs() < 32 ? 2 * procs() : 32;
    std::int64_t const each = scaled(is_long() ? 2'000'000 : 100'000, 2000) / pairs_count;
    std::deque<pair> pairs(static_cast<std::size_t>(pairs_count));
    wait_group all;
    start(all, pairs, each, think);
    all.wait();
    EXPECT_TRUE(no_goroutine_is_at_home());
  });
}

TEST_P(home_storm, T08_beside_goroutines_that_block_lock_and_stop_the_world) {
  run([&] {
    std::int64_t const each = scaled(is_long() ? 10'000 : 300, 50);
    std::deque<pair> pairs(16);
    std::atomic<bool> stop{false};
    wait_group all;
    wait_group others;
    start(all, pairs, each, [](rt::random_source& random) {
      if (random.next() % 16 == 0) blocking([] {});
    });
    for (int i = 0; i < 3; ++i) {
      others.go([&, i] {
        auto random = nth(5000 + static_cast<std::uint64_t>(i));
        while (!stop) {
          switch (random.next() % 4) {
            case 0: {
              os_thread_lock const lock;
              sleep_for(20us);
              break;
            }
            case 1: blocking([] {}, blocking_hint::long_call); break;
            case 2: blocking([] { sleep_for(20us); }); break;
            default: call_at_home([] { sleep_for(20us); }); break;
          }
        }
      });
    }
    others.go([&] {
      while (!stop) {
        rt::M& m = *rt::current_m();
        rt::enter_runtime(m);
        { rt::stopped_world const world(m); }
        rt::leave_runtime(*rt::current_m());
        sleep_for(2ms);
      }
    });
    all.wait();
    stop = true;
    others.wait();
    EXPECT_TRUE(no_goroutine_is_at_home());
  });
}

TEST_P(home_storm, T08_readied_by_threads_from_outside) {
  run([&] {
    std::int64_t const rounds = scaled(is_long() ? 20'000 : 2'000, 200);
    leave_m0();
    chan<int> there;
    chan<int> back;
    std::thread outside([&] {
      while (auto const got = there.recv()) back.send(*got);
    });
    auto random = nth(1);
    for (int i = 0; i < rounds; ++i) {
      call_at_home([&] {
        there.send(i);
        EXPECT_EQ(back.recv(), i);
      });
      think(random);
    }
    there.close();
    blocking([&] { outside.join(); });
  });
}

}  // namespace
}  // namespace thrum::test
