#include "os/guarded_call.h"

#include "base/platform.h"
#include "os/interrupted_code.h"
#include "os/signal.h"

#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>
#include <signal.h>
#include <ucontext.h>

namespace thrum::rt::os {
namespace {

bool takes_none(int, siginfo_t*, void*) { return false; }

class guarded_calls : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(install_fault_handler(takes_none), 0); }
  void TearDown() override { EXPECT_EQ(remove_fault_handler(), 0); }
};

struct steps {
  int volatile taken = 0;
  bool faults = false;
};

THRUM_NO_ASAN THRUM_NO_TSAN void take_steps(void* its) noexcept {
  auto& s = *static_cast<steps*>(its);
  s.taken = 1;
  if (s.faults) *reinterpret_cast<char volatile*>(64) = 1;
  s.taken = 2;
}

bool is_blocked(int signal) {
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return ::sigismember(&mask, signal) == 1;
}

TEST_F(guarded_calls, a_call_without_a_fault_is_complete) {
  steps s;
  EXPECT_TRUE(call_guarded(take_steps, &s));
  EXPECT_EQ(s.taken, 2);
}

// Locals live in registers that the function may have changed.
TEST_F(guarded_calls, a_fault_ends_the_call_and_the_caller_goes_on_with_its_registers_and_its_mask) {
  for (int i = 0; i < 3; ++i) {
    steps s{0, true};
    EXPECT_FALSE(call_guarded(take_steps, &s));
    EXPECT_EQ(s.taken, 1);
    EXPECT_FALSE(is_blocked(SIGSEGV));
    EXPECT_FALSE(is_blocked(SIGUSR1));
  }
}

TEST_F(guarded_calls, a_call_inside_another_ends_alone) {
  struct outer {
    steps inner{0, true};
    bool is_complete = true;
    steps own{0, true};
  } both;
  EXPECT_FALSE(call_guarded(
      [](void* its) noexcept {
        auto& o = *static_cast<outer*>(its);
        o.is_complete = call_guarded(take_steps, &o.inner);
        take_steps(&o.own);
      },
      &both));
  EXPECT_FALSE(both.is_complete);
  EXPECT_EQ(both.own.taken, 1);
}

// In the handler of a fault the kernel has blocked its signal.
TEST_F(guarded_calls, also_where_the_signal_is_blocked) {
  sigset_t faults;
  sigset_t before;
  ::sigemptyset(&faults);
  ::sigaddset(&faults, SIGSEGV);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &faults, &before), 0);
  steps s{0, true};
  EXPECT_FALSE(call_guarded(take_steps, &s));
  EXPECT_TRUE(is_blocked(SIGSEGV));
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
}

// The handler returns to the end of the call by these registers. On aarch64 the two BTYPE bits of the processor state
// must be clear, because the end of the call is no landing pad of an indirect branch. They are set if the fault is at
// the target of one.
TEST_F(guarded_calls, the_end_of_a_call_is_reached_with_its_stack_pointer_and_not_as_by_an_indirect_branch) {
  struct {
    bool is_left = false;
    bool reaches_end = false;
    bool has_flags = false;
  } seen;
  static_cast<void>(call_guarded(
      [](void* its) noexcept {
        auto& out = *static_cast<decltype(seen)*>(its);
        ucontext_t made_up{};
        auto const here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
#if defined(__x86_64__)
        made_up.uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(here);
        out.is_left = leave_guarded_call(&made_up);
        out.has_flags = true;
#else
        constexpr unsigned long long btype = 3ULL << 10U;
        constexpr unsigned long long flags = 0x6000'0000;
        made_up.uc_mcontext.sp = here;
        made_up.uc_mcontext.pstate = btype | flags;
        out.is_left = leave_guarded_call(&made_up);
        out.has_flags = made_up.uc_mcontext.pstate == flags;
#endif
        out.reaches_end = program_counter_of(&made_up) != 0 && stack_pointer_of(&made_up) > here;
      },
      &seen));
  EXPECT_TRUE(seen.is_left);
  EXPECT_TRUE(seen.reaches_end);
  EXPECT_TRUE(seen.has_flags) << "BTYPE is not clear, or other bits have changed";
}

}  // namespace
}  // namespace thrum::rt::os
