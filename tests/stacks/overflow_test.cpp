#include "stack/overflow.h"

#include "base/limits.h"
#include "os/memory.h"
#include "os/signal.h"
#include "stack/stack_pool.h"
#include "stacks/mappings.h"

#include <cstdint>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <ucontext.h>
#include <unistd.h>

namespace thrum::rt {
namespace {

using testing::ExitedWithCode;

// What the runtime does for each of its threads.
void be_ready_for_faults() {
  os::mapping const alternate = os::map(os::alt_stack_bytes());
  if (alternate.address == nullptr || os::install_alt_stack(alternate.address, os::alt_stack_bytes()) != 0 ||
      os::install_fault_handler(report_if_overflow) != 0) {
    ::_exit(90);
  }
}

[[gnu::noinline]] int recurse_in_large_frames(int depth) {
  char volatile frame[64 * 1024];
  frame[0] = static_cast<char>(depth);
  int const deeper = depth == -1 ? 0 : recurse_in_large_frames(depth + 1);
  return deeper + frame[0];
}

[[gnu::noinline]] int recurse_in_small_frames(int depth) {
  char volatile frame[128];
  frame[0] = static_cast<char>(depth);
  int const deeper = depth == -1 ? 0 : recurse_in_small_frames(depth + 1);
  return deeper + frame[0];
}

void large_frames() { ::_exit(91 + recurse_in_large_frames(0)); }
void small_frames() { ::_exit(91 + recurse_in_small_frames(0)); }

void run_on(stack& one, void (*entry)()) {
  one.goroutine_id = 4711;
  one.creation_site = reinterpret_cast<void*>(&std::strtol);  // a symbol that dladdr certainly knows
  static ucontext_t here;
  static ucontext_t there;
  ::getcontext(&there);
  there.uc_stack.ss_sp = one.low;
  there.uc_stack.ss_size = static_cast<std::size_t>(one.top - one.low);
  there.uc_link = &here;
  ::makecontext(&there, entry, 0);
  ::swapcontext(&here, &there);
}

void overflow(std::size_t size, void (*entry)()) {
  be_ready_for_faults();
  stack_pool pool(stack_size_default);
  (void)pool.allocate(size);
  run_on(*pool.allocate(size), entry);
}

TEST(stack_overflow_DeathTest, S29_SK_01_T10_recursion_in_64_KiB_frames_ends_in_a_diagnosis) {
  EXPECT_EXIT(overflow(stack_size_default, large_frames), ExitedWithCode(2),
              "thrum: goroutine 4711 stack overflow: the stack of 262144 bytes \\[0x[0-9a-f]+, 0x[0-9a-f]+\\) "
              "is used up \\(fault at 0x[0-9a-f]+, sp 0x[0-9a-f]+\\)\n"
              "created at .*strtol.*\\+0x0 \\(pc 0x[0-9a-f]+\\)\n"
              "raise it with thrum::go\\(thrum::stack_size\\{524288\\}, f\\) or options::stack_size "
              "\\(currently 262144\\)\n");
}

TEST(stack_overflow_DeathTest, S29_SK_01_recursion_in_small_frames_likewise) {
  EXPECT_EXIT(overflow(20'000, small_frames), ExitedWithCode(2),
              "thrum: goroutine 4711 stack overflow: the stack of 20000 bytes ");
}

TEST(stack_overflow_DeathTest, mprotected_guard_is_recognised_too) {
  EXPECT_EXIT(
      {
        be_ready_for_faults();
        stack_pool pool(stack_size_default, {.allowed = guard_policy::ways::protection_only});
        run_on(*pool.allocate(stack_size_default), large_frames);
      },
      ExitedWithCode(2), "goroutine 4711 stack overflow");
}

void write_into_the_guard(stack_pool& pool, std::uint64_t goroutine, std::size_t below) {
  be_ready_for_faults();
  (void)pool.allocate(stack_size_default);
  stack* const one = pool.allocate(stack_size_default);
  (void)pool.allocate(stack_size_default);
  one->goroutine_id = goroutine;
  *const_cast<char volatile*>(one->low - below) = 1;
  ::_exit(92);
}

TEST(stack_overflow_DeathTest, T15_attribution_is_by_address_over_the_whole_guard) {
  for (std::size_t const below : {std::size_t{1}, std::size_t{64 * 1024}, stack_guard_bytes}) {
    EXPECT_EXIT(
        {
          stack_pool pool(stack_size_default);
          write_into_the_guard(pool, 9, below);
        },
        ExitedWithCode(2), "goroutine 9 stack overflow");
  }
}

TEST(stack_overflow_DeathTest, sp_outside_the_stack_is_said) {
  EXPECT_EXIT(
      {
        stack_pool pool(stack_size_default);
        write_into_the_guard(pool, 9, 1);
      },
      ExitedWithCode(2), "sp is [0-9]+ bytes (above this stack|below its guard).*stray pointer");
}

TEST(stack_overflow_DeathTest, unknown_creation_site_is_no_obstacle) {
  EXPECT_EXIT(
      {
        stack_pool pool(stack_size_default);
        write_into_the_guard(pool, 9, 1);
      },
      ExitedWithCode(2), "created at an unknown place\nraise it with");
}

TEST(stack_overflow_DeathTest, guard_of_a_free_stack_is_a_stray_pointer) {
  EXPECT_EXIT(
      {
        stack_pool pool(stack_size_default);
        write_into_the_guard(pool, 0, 1);
      },
      ExitedWithCode(2), "thrum: fault at 0x[0-9a-f]+ .* on which no goroutine runs. This is probably a stray pointer");
}

TEST(stack_overflow_DeathTest, largest_stack_is_told_that_there_is_no_larger_one) {
  EXPECT_EXIT(
      {
        be_ready_for_faults();
        stack_pool pool(stack_size_default);
        stack* const one = pool.allocate(stack_size_max);
        one->goroutine_id = 1;
        *const_cast<char volatile*>(one->low - 1) = 1;
      },
      ExitedWithCode(2), "no stack can be larger than these 1073741824 bytes");
}

TEST(stack_overflow_DeathTest, T12_stacks_left_behind_are_still_diagnosed) {
  EXPECT_EXIT(
      {
        be_ready_for_faults();
        stack* left_behind = nullptr;
        {
          stack_pool pool(stack_size_default);
          left_behind = pool.allocate(stack_size_default);
          pool.abandon();
        }
        run_on(*left_behind, large_frames);
      },
      ExitedWithCode(2), "goroutine 4711 stack overflow");
}

bool ask(int signal, siginfo_t* info, void* ucontext) { ::_exit(report_if_overflow(signal, info, ucontext) ? 93 : 0); }

TEST(stack_overflow_DeathTest, T15_fault_elsewhere_is_not_ours) {
  EXPECT_EXIT(
      {
        if (os::install_fault_handler(ask) != 0) ::_exit(90);
        stack_pool pool(stack_size_default);
        (void)pool.allocate(stack_size_default);
        os::mapping const elsewhere = os::map(os::page_size());
        if (os::protect_none(elsewhere.address, os::page_size()) != 0) ::_exit(90);
        *const_cast<char volatile*>(elsewhere.address) = 1;
      },
      ExitedWithCode(0), "");
}

TEST(stack_overflow, T15_signals_that_were_sent_or_hit_no_guard_answer_false) {
  stack_pool pool(stack_size_default);
  stack* const one = pool.allocate(stack_size_default);
  one->goroutine_id = 1;
  siginfo_t info{};
  info.si_addr = one->low - 1;
  info.si_code = SI_USER;
  EXPECT_FALSE(report_if_overflow(SIGSEGV, &info, nullptr)) << "sent by kill()";
  info.si_code = SEGV_MAPERR;
  EXPECT_FALSE(report_if_overflow(SIGBUS, &info, nullptr));
  for (char* const harmless : {one->low, one->top - 1, one->top, one->top + 4096, static_cast<char*>(nullptr)}) {
    info.si_addr = harmless;
    EXPECT_FALSE(report_if_overflow(SIGSEGV, &info, nullptr)) << static_cast<void*>(harmless);
  }
}

}  // namespace
}  // namespace thrum::rt
