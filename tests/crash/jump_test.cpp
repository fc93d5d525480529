// Frames that are larger than a stack's guard, in code that is compiled without -fstack-clash-protection (see
// tests/CMakeLists.txt).
#include "base/limits.h"
#include "support/child_test.h"
#include <thrum/thrum.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>

#include <gtest/gtest.h>
#include <ucontext.h>

namespace thrum::test {
namespace {

class jumps : public child_test {};

constexpr std::size_t beyond_the_guard = 520 * 1024;

// Touches only the far end of its frame: the guard is not hit.
template <std::size_t bytes = beyond_the_guard, class F>
[[gnu::noinline]] int jump_and(F const& in_the_frame) {
  char volatile large[bytes];
  large[0] = 1;
  asm volatile("" ::"r"(large) : "memory");  // or clang would keep the one element that is used
  in_the_frame();
  return large[0];
}

void run_several(void (*body)()) {
  thrum::run(
      [body] {
        wait_group ended;
        for (int i = 0; i < 8; ++i) ended.go(body);
        ended.wait();
      },
      {.max_procs = 2});
}

#define JUMPED "thrum: goroutine [0-9]+ stack overflow: sp 0x[0-9a-f]+ is outside its stack of 262144 bytes(.*\n)*"

TEST_F(jumps, a_goroutine_that_parks_below_its_guard_is_reported) {
  EXPECT_FATAL(run_several([] {
                 static_cast<void>(jump_and([] {
                   for (;;) yield();  // a goroutine that is alone does not park
                 }));
               }),
               JUMPED "compile with -fstack-clash-protection");
  EXPECT_FATAL(run_several([] { static_cast<void>(jump_and([] { sleep_for(std::chrono::milliseconds(1)); })); }),
               JUMPED);
}

TEST_F(jumps, so_is_one_that_is_locked_to_its_thread) {
  EXPECT_FATAL(run_several([] {
                 os_thread_lock const here;
                 static_cast<void>(jump_and([] { sleep_for(std::chrono::milliseconds(1)); }));
               }),
               JUMPED);
}

// It does not park, but its slice ends.
TEST_F(jumps, so_is_one_that_computes_there) {
  if (rt::with_tsan) GTEST_SKIP() << "ThreadSanitizer defers signals: loops without calls are not preempted";
  EXPECT_FATAL(
      {
        ::setenv("THRUM_DEBUG", "slice=10000", 1);
        run_several([] {
          static_cast<void>(jump_and([] {
            for (;;) asm volatile("");
          }));
        });
      },
      JUMPED);
}

TEST_F(jumps, so_is_one_whose_stack_is_smaller_than_the_default) {
  EXPECT_FATAL(thrum::run(
                   [] {
                     constexpr stack_size small{16 * 1024};
                     wait_group never;
                     never.add(1);
                     for (int i = 0; i < 4; ++i) go(small, [&] { never.wait(); });  // the neighbours below
                     for (int i = 0; i < 10; ++i) yield();
                     go(small,
                        [] { static_cast<void>(jump_and<rt::stack_guard_bytes + 120 * 1024>([] { yield(); })); });
                     for (;;) yield();
                   },
                   {.max_procs = 1}),
               "stack overflow: sp 0x[0-9a-f]+ is outside its stack of 16384 bytes");
}

// Not every stack that a goroutine stands on is thrum's: coroutines of the program's own may park.
TEST_F(jumps, a_stack_of_the_programs_own_is_none_of_thrums_business) {
  thrum::run([] {
    static ucontext_t here;
    static ucontext_t there;
    static char own[64 * 1024];
    ASSERT_EQ(::getcontext(&there), 0);
    there.uc_stack.ss_sp = own;
    there.uc_stack.ss_size = sizeof own;
    there.uc_link = &here;
    ::makecontext(
        &there, [] { yield(); }, 0);
    go([] {});
    ASSERT_EQ(::swapcontext(&here, &there), 0);
  });
}

}  // namespace
}  // namespace thrum::test
