// T09: the switch keeps what the calling convention says it keeps. First between two bare contexts, then on the
// scheduler, where goroutines also move between threads.
#include "arch/context.h"
#include "os/thread.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "switching/registers.h"
#include <thrum/go.h>
#include <thrum/wait_group.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

// A second stack beside the test's own. What runs there is a loop that calls visit() and comes back.
class second_stack {
 public:
  explicit second_stack(void (*visit)()) : visit_(visit) {
    active = this;
    make_context(there_, memory_.get(), memory_.get() + bytes, &loop);
    auto const own = os::current_thread_stack();
    adopt_thread_stack(here_, own.low, own.high);
  }
  ~second_stack() { forget_context(there_); }
  second_stack(second_stack const&) = delete;
  second_stack& operator=(second_stack const&) = delete;

  void enter() { switch_context(here_, there_, departure::comes_back); }
  void leave() { switch_context(there_, here_, departure::comes_back); }

  static inline second_stack* active = nullptr;

 private:
  static constexpr std::size_t bytes = 256 * 1024;

  static void loop() {
    for (;;) {
      active->visit_();
      active->leave();
    }
  }

  void (*visit_)();
  std::unique_ptr<char, decltype(&std::free)> memory_{static_cast<char*>(std::aligned_alloc(16, bytes)), &std::free};
  context here_;
  context there_;
};

TEST(registers, the_probe_itself_notices_a_change) {
  EXPECT_EQ(thrum_test_call_with_patterns([](void*) {}, nullptr, 7), 0U);
#if defined(__aarch64__)
  EXPECT_EQ(thrum_test_call_with_patterns([](void*) { asm volatile("mov x21, #1\n\tfmov d9, #1.0"); }, nullptr, 7), 2U);
#elif defined(__x86_64__)
  EXPECT_EQ(thrum_test_call_with_patterns([](void*) { asm volatile("movl $1, %r13d"); }, nullptr, 7), 1U);
#endif
}

TEST(switch_context, T09_keeps_the_callee_saved_registers_of_both_sides) {
  static std::uint64_t wrong_there;
  static std::uint64_t visits;
  wrong_there = visits = 0;
  second_stack other([] {
    wrong_there += thrum_test_call_with_patterns([](void*) { second_stack::active->leave(); }, nullptr, 0x5555'0000);
    ++visits;
  });
  std::uint64_t wrong_here = 0;
  for (std::uint64_t round = 0; round < 1000; ++round) {
    wrong_here += thrum_test_call_with_patterns([](void*) { second_stack::active->enter(); }, nullptr, round << 32U);
  }
  EXPECT_EQ(wrong_here, 0U);
  EXPECT_EQ(wrong_there, 0U);
  EXPECT_GE(visits, 300U) << "the other side did run";
}

// --- on the scheduler ---

class switches : public test::at_every_width {
 protected:
  // Sixteen goroutines call `count_wrong` with patterns for their registers. It returns how many registers were wrong.
  template <class F>
  static void expect_registers_are_kept(std::int64_t rounds, F count_wrong) {
    constexpr int goroutines = 16;
    std::atomic<std::uint64_t> wrong{0};
    run([&] {
      wait_group all;
      for (int i = 0; i < goroutines; ++i) {
        all.go([&, i] {
          for (std::int64_t round = 0; round < rounds; ++round) {
            wrong += count_wrong((static_cast<std::uint64_t>(i) << 40U) + static_cast<std::uint64_t>(round));
          }
        });
      }
      all.wait();
    });
    EXPECT_EQ(wrong.load(), 0U);
  }
};

TEST_P(switches, T09_goroutines_keep_their_registers_over_yields_and_moves) {
  expect_registers_are_kept(test::scaled(2000, 50), [](std::uint64_t pattern) {
    return thrum_test_call_with_patterns([](void*) { thrum::yield(); }, nullptr, pattern);
  });
}

TEST_P(switches, T09_goroutines_keep_their_registers_over_parks) {
  expect_registers_are_kept(test::scaled(500, 20), [](std::uint64_t pattern) {
    wait_group child;
    child.go([] { thrum::yield(); });
    auto const wait = [](void* waited_for) { static_cast<wait_group*>(waited_for)->wait(); };
    return thrum_test_call_with_patterns(wait, &child, pattern);
  });
}

THRUM_AT_EVERY_WIDTH(switches);

}  // namespace
}  // namespace thrum::rt
