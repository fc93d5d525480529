// S31, S32: threads and the memory of stacks that have not been used for long are given back.
#include "os/memory.h"
#include "support/child.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::run_with;

void sit_in_the_kernel(int at_once) {
  std::atomic<int> inside{0};
  wait_group all;
  for (int i = 0; i < at_once; ++i) {
    all.go([&] {
      blocking(
          [&] {
            ++inside;
            EXPECT_TRUE(test::spin_until([&] { return inside == at_once; }));  // each on a thread of its own
          },
          blocking_hint::long_call);
    });
  }
  all.wait();
}

TEST(surplus_threads, S31_end_after_a_burst_of_system_calls) {
  test::without_slices const uninterrupted;
  constexpr int procs = 2;
  constexpr int burst = 20;
  run_with({.max_procs = procs, .idle_thread_after = 20ms}, [] {
    for (int round = 0; round < 3; ++round) {
      sit_in_the_kernel(burst);
      // main sleeps: sysmon is awake now and then, or deeply asleep until they are due
      for (int i = 0; i < 1000 && num_threads() > procs + 2; ++i) sleep_for(10ms);
      EXPECT_LE(num_threads(), procs + 2);
    }
  });
}

TEST(surplus_threads, S31_end_while_the_program_sleeps) {
  test::delays_only const quiet;
  run_with({.max_procs = 1, .idle_thread_after = 10ms}, [] {
    sit_in_the_kernel(10);
    rt::Sched& s = test::this_sched();
    int tries = 0;
    do {  // only sysmon is awake, to end the threads
      sleep_for(100ms);
    } while (num_threads() > 3 && ++tries < 100);
    EXPECT_LE(num_threads(), 3);
    std::uint64_t looks = 0;
    tries = 0;
    do {
      std::uint64_t const before = s.sysmon.looks.load(rt::relaxed);
      sleep_for(200ms);
      looks = s.sysmon.looks.load(rt::relaxed) - before;
    } while (looks > 5 && ++tries < 50);
    EXPECT_LE(looks, 5U) << "with nothing left to give back it sleeps deeply";
  });
}

// A timekeeper that another M replaces, because that M watches an earlier timer, continues to sleep as an idle M.
TEST(surplus_threads, S31_one_that_kept_the_time_may_be_let_go) {
  run_with({.max_procs = 2, .idle_thread_after = 3ms}, [] {
    for (int round = 0; round < test::scaled(20, 5); ++round) {
      sit_in_the_kernel(8);
      wait_group sleepers;
      for (int i = 0; i < 6; ++i) {
        sleepers.go([i] { sleep_for(std::chrono::milliseconds(20 - 3 * i)); });
        sleep_for(500us);  // all Ms are idle meanwhile, and one of them keeps the time of the sleepers
      }
      sleepers.wait();
    }
  });
}

std::int64_t resident_bytes() { return static_cast<std::int64_t>(rt::os::resident_bytes()); }

// Calls `then` with so much of its stack in use. In a frame of its own, which is gone when it returns.
template <std::size_t Bytes, class F>
[[gnu::noinline]] void use_stack(F then) {
  char block[Bytes];
  asm volatile(""
               :
               : "r"(block)
               : "memory");  // keeps the array whole, because clang may split one whose address is not used
  for (std::size_t i = 0; i < sizeof block; i += 1024) block[i] = 1;
  then();
  asm volatile("" : : "r"(block) : "memory");  // it is in use until here
}

// SK-04.
TEST(idle_stacks, S32_SK_04_give_their_memory_back) {
  if (rt::with_asan || rt::with_tsan || test::emulated()) GTEST_SKIP() << "what is resident is the tool's";
  run_with({.max_procs = 2, .scavenge_after = 50ms}, [] {
    std::int64_t const before = resident_bytes();
    std::int64_t with_stacks = 0;
    {
      wait_group all;
      semaphore held(0);
      constexpr int goroutines = 10'000;
      for (int i = 0; i < goroutines; ++i) {
        all.go([&] { use_stack<16 * 1024>([&] { held.acquire(); }); });
      }
      while (test::waiting_for(rt::wait_reason::semaphore) < goroutines) sleep_for(1ms);
      with_stacks = resident_bytes();
      held.release(goroutines);
      all.wait();
    }
    EXPECT_GT(with_stacks - before, 100'000'000);
    EXPECT_TRUE(test::wait_until([&] {
      sleep_for(20ms);
      return resident_bytes() - before < (with_stacks - before) / 5;
    })) << resident_bytes() - before
        << " of " << with_stacks - before;
    // And they serve again.
    wait_group all;
    for (int i = 0; i < 1000; ++i) all.go([] { use_stack<16 * 1024>(thrum::yield); });
    all.wait();
  });
}

// Parks with 100 KiB used up below, once.
TEST(parked_stacks, S32_T10_give_back_what_is_below_a_parked_goroutine_and_nothing_else) {
  if (rt::with_asan || rt::with_tsan || test::emulated()) GTEST_SKIP() << "what is resident is the tool's";
  run_with({.max_procs = 2, .scavenge_after = 50ms}, [] {
    constexpr int goroutines = 1000;
    constexpr std::int64_t depth = 100 * 1024;
    semaphore deep_down(0);
    semaphore held(0);
    wait_group all;
    std::atomic<int> wrong{0};
    std::int64_t const before = resident_bytes();
    for (int i = 0; i < goroutines; ++i) {
      all.go([&, i] {
        volatile int kept[100];
        for (int& each : const_cast<int(&)[100]>(kept)) each = i;
        use_stack<depth>([&] { deep_down.acquire(); });
        held.acquire();
        for (int const each : const_cast<int(&)[100]>(kept)) wrong += each != i ? 1 : 0;
      });
    }
    while (test::waiting_for(rt::wait_reason::semaphore) < goroutines) sleep_for(1ms);
    std::int64_t const deep = resident_bytes() - before;
    EXPECT_GT(deep, goroutines * depth);
    deep_down.release(goroutines);
    EXPECT_TRUE(test::wait_until([&] {
      sleep_for(20ms);
      return resident_bytes() - before < deep / 5;
    })) << resident_bytes() - before
        << " of " << deep;
    held.release(goroutines);
    all.wait();
    EXPECT_EQ(wrong, 0);
  });
}

// They are readied while they are looked at.
TEST(parked_stacks, T10_goroutines_that_come_and_go_lose_nothing) {
  run_with({.max_procs = 4, .scavenge_after = 1ms}, [] {
    constexpr int pairs = 50;
    wait_group all;
    std::atomic<int> wrong{0};
    for (int i = 0; i < pairs; ++i) {
      chan<int> const there;
      chan<int> const back;
      all.go([=, &wrong] {
        for (int k = 0; k < test::scaled(10'000, 200); ++k) {
          volatile int const mine = k;
          there.send(k);
          if (back.recv() != mine + 1 || mine != k) ++wrong;
          if (k % 100 == 0) sleep_for(500us);
        }
        there.close();
      });
      all.go([=] {
        for (int const value : there) back.send(value + 1);
      });
    }
    all.wait();
    EXPECT_EQ(wrong, 0);
  });
}

// SK-05: stacks are given back every millisecond, and meet goroutines that are just about to park.
class just_parking : public test::at_every_width {};
THRUM_AT_EVERY_WIDTH(just_parking);

// Uses up some depth, level by level, and gives it all back.
[[gnu::noinline]] int go_deep(int levels) {
  char volatile block[1024];
  for (std::size_t i = 0; i < sizeof block; i += 256) block[i] = static_cast<char>(levels);
  return levels == 0 ? 0 : go_deep(levels - 1) + (block[0] == static_cast<char>(levels) ? 1 : 0);
}

TEST_P(just_parking, SK05_deep_then_blocked_senders_keep_their_values) {
  constexpr int senders = 10;
  constexpr int levels = 60;
  run_with({.max_procs = procs(), .scavenge_after = 1ms}, [] {
    for (std::int64_t round = 0; round < test::scaled(200, 20); ++round) {
      chan<std::pair<int, std::int64_t>> values;
      wait_group all;
      std::atomic<int> wrong{0};
      for (int i = 0; i < senders; ++i) {
        all.go([&, i] {
          for (std::int64_t k = 0; k < 3; ++k) {
            std::pair<int, std::int64_t> kept{i, round + k};
            if (go_deep(levels) != levels) ++wrong;
            values.send(kept);
            if (kept != std::pair<int, std::int64_t>{i, round + k}) ++wrong;
          }
        });
      }
      if (round % 4 == 0) {  // all of them are blocked for so long that their stacks are looked at
        ASSERT_TRUE(test::wait_until([] { return test::waiting_for(rt::wait_reason::chan_send) == senders; }));
        auto const& looks = test::this_sched().sysmon.looks;
        ASSERT_TRUE(test::wait_until([&looks, before = looks.load(rt::relaxed), since = clock::now()] {
          sleep_for(1ms);
          return looks.load(rt::relaxed) >= before + 3 && clock::now() >= since + 3ms;
        }));
      }
      std::array<std::int64_t, senders> next{};
      for (int i = 0; i < 3 * senders; ++i) {
        auto const [who, what] = values.recv().value();
        EXPECT_EQ(what, round + next.at(static_cast<std::size_t>(who))++);
      }
      all.wait();
      ASSERT_EQ(wrong, 0);
    }
  });
}

}  // namespace
}  // namespace thrum
