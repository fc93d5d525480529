// S14 to S17 and T04 under load: calls of every length, announced and not, beside everything else.
#include "base/random.h"
#include "os/barrier.h"
#include "os/fault.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/seed.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cerrno>
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

// Calls that were not announced, beside goroutines that use the runtime: sysmon takes Ps from threads that wake up.
void storm_of_unannounced_calls() {
  constexpr std::uint64_t goroutines = 32;
  std::int64_t const rounds = scaled(100, 30);
  std::uint64_t const seed = test_seed();
  chan<int> const c(4);
  std::int64_t received = 0;
  mutex guard;
  std::int64_t guarded = 0;
  wait_group senders;
  for (std::uint64_t g = 0; g < goroutines; ++g) {
    senders.go([&, random = rt::random_source(seed + g)]() mutable {
      for (std::int64_t i = 0; i < rounds; ++i) {
        some_call(random);
        if (random.below(2) == 0) {
          guard.lock();
          ++guarded;
          some_call(random);
          guard.unlock();
        } else {
          c.send(1);
        }
      }
    });
  }
  go([&] {
    senders.wait();
    c.close();
  });
  while (c.recv()) ++received;
  EXPECT_EQ(received + guarded, static_cast<std::int64_t>(goroutines) * rounds);
}

TEST_P(syscall_storm, T04_nothing_is_lost_in_calls_that_were_not_announced) { run(storm_of_unannounced_calls); }

TEST_P(syscall_storm, T04_nothing_is_lost_in_calls_that_were_not_announced_without_membarrier) {
  rt::os::inject_fault(rt::os::call::membarrier, ENOSYS, 0, rt::os::fault_for_good);
  run([] {
    EXPECT_FALSE(rt::os::has_barrier());
    storm_of_unannounced_calls();
  });
  rt::os::clear_faults();
  rt::os::prepare_barrier();
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
