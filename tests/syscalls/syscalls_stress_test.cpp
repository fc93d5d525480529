// S14 to S17 under load: calls of every length, inside and outside each other, beside everything else.
#include "base/random.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/seed.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>
#include <sched.h>
#include <time.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

class syscall_storm : public at_every_width {};
THRUM_AT_EVERY_WIDTH(syscall_storm);

void some_call(rt::random_source& random) {
  switch (random.below(4)) {
    case 0: break;
    case 1: ::sched_yield(); break;
    default: {
      timespec const pause{.tv_sec = 0, .tv_nsec = static_cast<long>(random.below(200'000))};
      ::nanosleep(&pause, nullptr);
    }
  }
}

TEST_P(syscall_storm, S14_nothing_is_lost) {
  constexpr std::uint64_t goroutines = 32;
  std::int64_t const rounds = scaled(300, 30);
  std::atomic<std::int64_t> received{0};
  std::uint64_t const seed = test_seed();
  run([&] {
    chan<int> const c(4);
    mutex guard;
    std::int64_t guarded = 0;
    wait_group all;
    wait_group receivers;
    for (int i = 0; i < 2; ++i) {
      receivers.go([&] {
        while (c.recv()) ++received;
      });
    }
    for (std::uint64_t g = 0; g < goroutines; ++g) {
      all.go([&, random = rt::random_source(seed + g)]() mutable {
        for (std::int64_t i = 0; i < rounds; ++i) {
          auto const hint = random.below(5) == 0 ? blocking_hint::long_call : blocking_hint::may_be_short;
          switch (random.below(4)) {
            case 0:
              blocking(
                  [&] {
                    some_call(random);
                    c.send(1);
                  },
                  hint);
              break;
            case 1:
              blocking(
                  [&] {
                    some_call(random);
                    guard.lock();
                    ++guarded;
                    guard.unlock();
                    some_call(random);
                  },
                  hint);
              c.send(1);
              break;
            case 2:
              blocking([&] { some_call(random); }, hint);
              thrum::yield();
              c.send(1);
              break;
            default: {
              auto child = spawn([&c] { c.send(1); });
              blocking([&] { child.join(); }, hint);
            }
          }
        }
      });
    }
    all.wait();
    c.close();
    receivers.wait();
  });
  EXPECT_EQ(received, static_cast<std::int64_t>(goroutines) * rounds);
}

}  // namespace
}  // namespace thrum::test
