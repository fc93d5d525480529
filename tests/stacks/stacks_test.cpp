// Stacks: deep recursion keeps its locals (SK-02), and one that never ends is reported, not suffered (SK-01, S29).
#include "base/atomic.h"
#include "support/baton.h"
#include "support/child_test.h"
#include "support/first_thread.h"
#include "support/run_at.h"
#include <thrum/after_func.h>
#include <thrum/go.h>
#include <thrum/runtime.h>
#include <thrum/wait_group.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>
#include <signal.h>

namespace thrum::test {
namespace {

// A frame whose locals are checked on the way back.
template <class AtTheBottom>
[[gnu::noinline]] bool dive(std::uint32_t depth, std::uint32_t mark, AtTheBottom const& at_the_bottom) {
  std::array<std::uint32_t volatile, 8> locals{};
  for (std::uint32_t i = 0; i < locals.size(); ++i) locals[i] = depth * 31 + mark + i;
  if (depth == 0) {
    at_the_bottom();
  } else if (!dive(depth - 1, mark, at_the_bottom)) {
    return false;
  }
  for (std::uint32_t i = 0; i < locals.size(); ++i) {
    if (locals[i] != depth * 31 + mark + i) return false;
  }
  return true;
}

// Room for 1,024 frames also when a sanitizer puts its zones around the locals.
constexpr std::size_t room = (rt::with_asan || rt::with_tsan || rt::debug_checks) ? 2U << 20U : 256U << 10U;

class stacks : public at_every_width {};
THRUM_AT_EVERY_WIDTH(stacks);

void dive_ever_deeper() {
  for (std::uint32_t depth = 0; depth < 1024; ++depth) {
    ASSERT_TRUE(dive(depth, depth, [depth] {
      if (depth % 64 == 0) yield();
    }));
  }
}

TEST_P(stacks, SK02_a_thousand_recursions_of_growing_depth_keep_their_locals) {
  run([&] {
    wait_group ended;
    ended.add(1);
    go(stack_size{room}, [&] {
      dive_ever_deeper();
      ended.done();
    });
    ended.wait();
  });
}

TEST_P(stacks, SK02_so_they_do_on_a_locked_thread) {
  run([&] {
    wait_group ended;
    ended.add(1);
    go(stack_size{room}, [&] {
      os_thread_lock const lock;
      dive_ever_deeper();
      ended.done();
    });
    ended.wait();
  });
}

TEST_P(stacks, SK02_so_they_do_in_the_callback_of_a_timer) {
  run_with({.max_procs = procs(), .stack_size = room}, [] {
    wait_group ended;
    ended.add(1);
    after_func(std::chrono::microseconds(1), [&] {
      dive_ever_deeper();
      ended.done();
    });
    ended.wait();
  });
}

// Each goroutine recurses to a depth of its own and switches away at the bottom. No two goroutines share a stack.
TEST_P(stacks, SK02_a_thousand_goroutines_stand_at_the_bottom_at_once) {
  std::uint32_t const many = rt::with_tsan ? 256 : 1024;
  run_with({.max_procs = procs(), .stack_size = room}, [&] {
    wait_group ended;
    wait_group gate;
    gate.add(1);
    rt::atomic<std::uint32_t> intact{0};
    for (std::uint32_t i = 0; i < many; ++i) {
      ended.go([&, i] {
        if (dive(i, i * 7919, [&] { gate.wait(); })) intact.fetch_add(1, rt::relaxed);
      });
    }
    for (int i = 0; i < 100; ++i) yield();
    gate.done();
    ended.wait();
    EXPECT_EQ(intact.load(rt::relaxed), many);
  });
}

TEST_P(stacks, SK02_stacks_are_used_again_and_again) {
  run_with({.max_procs = procs(), .stack_size = room}, [&] {
    rt::atomic<std::uint32_t> broken{0};
    for (std::uint32_t round = 0; round < 20; ++round) {
      wait_group ended;
      for (std::uint32_t i = 0; i < 50; ++i) {
        ended.go([&, mark = round * 50 + i] {
          if (!dive(mark % 300, mark, [] { yield(); })) broken.fetch_add(1, rt::relaxed);
        });
      }
      ended.wait();
    }
    EXPECT_EQ(broken.load(rt::relaxed), 0U);
  });
}

// --- SK-01 ---

class overflows : public child_test {};

[[gnu::noinline]] int without_end_in_large_frames(int depth) {
  char volatile frame[64 * 1024];
  frame[0] = static_cast<char>(depth);
  int const deeper = depth == -1 ? 0 : without_end_in_large_frames(depth + 1);
  return deeper + frame[0];
}

[[gnu::noinline]] int without_end_in_small_frames(int depth) {
  char volatile frame[64];
  frame[0] = static_cast<char>(depth);
  int const deeper = depth == -1 ? 0 : without_end_in_small_frames(depth + 1);
  return deeper + frame[0];
}

void overflow(int (*recurse)(int), std::size_t size) {
  thrum::run(
      [&] {
        wait_group ended;
        ended.add(1);
        go(stack_size{size}, [recurse] { static_cast<void>(recurse(0)); });
        ended.wait();
      },
      {.max_procs = 2});
}

#define OVERFLOW_OF(size)                                           \
  "thrum: goroutine [2-9][0-9]* stack overflow: the stack of " size \
  " bytes \\[0x[0-9a-f]+, 0x[0-9a-f]+\\) .*sp 0x[0-9a-f]+"

TEST_F(overflows, SK01_large_frames) {
  EXPECT_FATAL(overflow(without_end_in_large_frames, 256U << 10U), OVERFLOW_OF("262144"));
  EXPECT_FATAL(overflow(without_end_in_large_frames, 1U << 20U), OVERFLOW_OF("1048576"));
}

TEST_F(overflows, SK01_small_frames) {
  EXPECT_FATAL(overflow(without_end_in_small_frames, 256U << 10U), OVERFLOW_OF("262144"));
  EXPECT_FATAL(overflow(without_end_in_small_frames, 16U << 10U), OVERFLOW_OF("16384"));
}

TEST_F(overflows, SK01_after_a_move_to_another_thread) {
  EXPECT_FATAL(thrum::run([] {
                 wait_away_from_the_first_thread();
                 static_cast<void>(without_end_in_large_frames(0));
               }),
               "goroutine 1 stack overflow");
}

// A wild pointer is not a stack overflow: the program dies of it as ever.
TEST_F(overflows, SK01_other_faults_are_not_ours) {
  auto const fault = [] {
    thrum::run([] {
      auto* volatile const nowhere = reinterpret_cast<int volatile*>(64);
      *nowhere = 1;
    });
  };
  if (rt::with_asan || rt::with_tsan) {
    EXPECT_DEATH(fault(), "SEGV");
  } else {
    EXPECT_EXIT(fault(), testing::KilledBySignal(SIGSEGV), "^thrum: fatal error: SIGSEGV")
        << "no overflow is spoken of; an emulator may say that the program died";
  }
}

}  // namespace
}  // namespace thrum::test
