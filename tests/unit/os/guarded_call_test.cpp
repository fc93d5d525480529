#include "os/guarded_call.h"

#include "base/platform.h"
#include "os/signal.h"

#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>
#include <signal.h>

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

}  // namespace
}  // namespace thrum::rt::os
