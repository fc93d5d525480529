// Events that come a few at a time, for goroutines that are quick, slow, asleep in the kernel or parked at random.
// Every byte is answered, whether or not an M was woken for it.
#include "base/random.h"
#include "support/goroutines.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/seed.h"
#include "support/sockets.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <time.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

class few_events_stress : public at_every_width {};

void handle_somehow(rt::random_source& random) {
  switch (random.next() % 64) {
    case 0: compute_for(std::chrono::microseconds(random.next() % 500)); break;
    case 1: {
      timespec const nap{0, static_cast<long>(random.next() % 200'000)};
      ::nanosleep(&nap, nullptr);
      break;
    }
    case 2: blocking([] { rt::os::yield_thread(); }); break;
    case 3: sleep_for(std::chrono::microseconds(random.next() % 200)); break;
    case 4: yield(); break;
    case 5: spawn([] {}).join(); break;
    default: break;
  }
}

TEST_P(few_events_stress, S25_every_byte_is_answered_beside_slow_ones) {
  std::uint64_t const seed = test_seed();
  constexpr int pairs = 12;
  auto const rounds = is_long() ? 200'000 : scaled(1'000, 100);
  run([&] {
    std::atomic<std::int64_t> answered{0};
    wait_group all;
    for (int i = 0; i < pairs; ++i) {
      all.go([&, i] {
        auto ab = socket_pair();
        auto other = spawn([&, random = nth_random(seed, static_cast<std::uint64_t>(i))]() mutable {
          char byte = 0;
          while (ab.b.read_some({&byte, 1}) == 1) {
            handle_somehow(random);
            ab.b.write_all({&byte, 1});
          }
        });
        for (std::int64_t round = 0; round < rounds; ++round) {
          ask(ab.a);
          ++answered;
        }
        ab.a.close();
        other.join();
      });
    }
    all.wait();
    EXPECT_EQ(answered, pairs * rounds);
    EXPECT_EQ(this_sched().poll.waiters(), 0);
  });
}

THRUM_AT_EVERY_WIDTH(few_events_stress);

}  // namespace
}  // namespace thrum::test
