// T09: rounding mode and the other floating-point controls belong to the goroutine.
#include "arch/fp_control.h"

#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include <thrum/go.h>
#include <thrum/wait_group.h>

#include <atomic>
#include <cfenv>
#include <cstdint>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

constexpr int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

// What the hardware does, not only what the control word says: 1/3 is rounded differently in each mode.
[[gnu::noinline]] double third() {
  double volatile numerator = 1.0;
  double volatile denominator = 3.0;
  return numerator / denominator;
}

// Bits beside the rounding mode: flush-to-zero, and on x86 the x87 unit's precision.
std::uint64_t read_controls() {
#if defined(__aarch64__)
  std::uint64_t word = 0;
  asm volatile("mrs %0, fpcr" : "=r"(word));
  return word;
#elif defined(__x86_64__)
  std::uint32_t sse = 0;
  std::uint16_t x87 = 0;
  asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(sse), "=m"(x87));
  return (std::uint64_t{x87} << 32U) | (sse & ~0x3fU);  // without the status flags
#endif
}

void set_flush_to_zero_and_half_precision() {
#if defined(__aarch64__)
  std::uint64_t const word = read_controls() | (1UL << 24U);
  asm volatile("msr fpcr, %0" ::"r"(word));
#elif defined(__x86_64__)
  auto const sse = static_cast<std::uint32_t>(read_controls() & 0xffff'ffffU) | 0x8000U;
  auto const x87 = static_cast<std::uint16_t>((read_controls() >> 32U) & ~0x0300U);  // 24 bits of precision
  asm volatile("ldmxcsr %0\n\tfldcw %1" ::"m"(sse), "m"(x87));
#endif
}

class fp_modes : public test::at_every_width {};

TEST_P(fp_modes, T09_each_goroutine_keeps_its_own_rounding_mode) {
  constexpr int goroutines = 16;
  std::int64_t const rounds = test::scaled(500, 20);
  std::atomic<int> wrong{0};
  run([&] {
    wait_group all;
    for (int i = 0; i < goroutines; ++i) {
      all.go([&, mode = modes[i % 4]] {
        std::fesetround(mode);
        double const mine = third();
        for (std::int64_t round = 0; round < rounds; ++round) {
          thrum::yield();
          if (std::fegetround() != mode || third() != mine) ++wrong;
        }
      });
    }
    all.wait();
    EXPECT_EQ(std::fegetround(), FE_TONEAREST) << "main's was never changed";
  });
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(std::fegetround(), FE_TONEAREST) << "nor that of run()'s caller";
}

TEST_P(fp_modes, T09_flush_to_zero_and_precision_are_kept_and_do_not_spread) {
  std::atomic<int> wrong{0};
  run([&] {
    std::uint64_t const plain = read_controls();
    wait_group all;
    for (int i = 0; i < 16; ++i) {
      all.go([&, changed = i % 2 == 0] {
        if (changed) set_flush_to_zero_and_half_precision();
        std::uint64_t const mine = read_controls();
        if (changed == (mine == plain)) ++wrong;
        for (std::int64_t round = 0; round < test::scaled(500, 20); ++round) {
          thrum::yield();
          if (read_controls() != mine) ++wrong;
        }
      });
    }
    all.wait();
  });
  EXPECT_EQ(wrong.load(), 0);
}

// The thread that a goroutine causes to be made inherits its controls, by POSIX; the goroutines there must not.
TEST_P(fp_modes, T09_a_new_goroutine_starts_with_the_modes_of_run_s_caller_on_whatever_thread) {
  std::atomic<int> wrong{0};
  run([&] {
    std::fesetround(FE_UPWARD);  // and now threads are made from here
    std::atomic<int> started{0};
    int const others = 2 * procs();
    for (int i = 0; i < others; ++i) {
      thrum::go([&] {
        if (std::fegetround() != FE_TONEAREST) ++wrong;
        ++started;
      });
    }
    if (procs() > 1) {
      EXPECT_TRUE(test::spin_until([&] { return started == others; })) << "the others run while main keeps its P";
    } else {
      EXPECT_TRUE(test::wait_until([&] { return started == others; }));
    }
    EXPECT_EQ(std::fegetround(), FE_UPWARD);
  });
  EXPECT_EQ(wrong.load(), 0);
}

TEST_P(fp_modes, T09_the_end_of_one_goroutine_does_not_show_in_the_next) {
  std::atomic<int> wrong{0};
  run([&] {
    wait_group all;
    for (int i = 0; i < 200; ++i) {  // many of them take a stack over without a switch
      all.go([&, i] {
        if (std::fegetround() != FE_TONEAREST) ++wrong;
        std::fesetround(modes[i % 4]);
      });
    }
    all.wait();
  });
  EXPECT_EQ(wrong.load(), 0);
}

TEST_P(fp_modes, T07_a_child_that_is_joined_in_place_has_its_own) {
  run([&] {
    std::fesetround(FE_DOWNWARD);
    auto child = thrum::spawn([] {
      int const begun_with = std::fegetround();
      std::fesetround(FE_UPWARD);
      thrum::yield();
      return begun_with;
    });
    EXPECT_EQ(child.join(), FE_TONEAREST);
    EXPECT_EQ(std::fegetround(), FE_DOWNWARD);
  });
}

TEST(fp_modes, T09_the_caller_s_own_modes_are_what_goroutines_start_with) {
  std::fesetround(FE_TOWARDZERO);
  test::run_at(2, [] {
    EXPECT_EQ(std::fegetround(), FE_TOWARDZERO);
    wait_group all;
    all.go([] { EXPECT_EQ(std::fegetround(), FE_TOWARDZERO); });
    all.wait();
  });
  EXPECT_EQ(std::fegetround(), FE_TOWARDZERO);
  std::fesetround(FE_TONEAREST);
}

THRUM_AT_EVERY_WIDTH(fp_modes);

}  // namespace
}  // namespace thrum::rt
