// S29: stacks are small at first, may grow large, and end with a diagnosis.
#include "os/memory.h"
#include "os/thread.h"
#include "stack/stack.h"
#include "support/fatal.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace thrum {
namespace {

using test::run_at;
using test::this_g;

std::size_t resident_pages(rt::stack const& one) {
  std::size_t const page = rt::os::page_size();
  auto const end = (reinterpret_cast<std::uintptr_t>(one.top) | (page - 1)) + 1;
  auto const bytes = end - reinterpret_cast<std::uintptr_t>(one.low);
  std::vector<unsigned char> seen(bytes / page);
  if (::mincore(one.low, bytes, seen.data()) != 0) return ~std::size_t{0};
  std::size_t resident = 0;
  for (unsigned char const each : seen) resident += each & 1U;
  return resident;
}

// Uses `depth` frames of about 1 KiB, each with a local that is checked on the way back.
[[gnu::noinline]] bool deep(int depth) {  // NOLINT(misc-no-recursion)
  int volatile checked[200];
  for (int i = 0; i < 200; ++i) checked[i] = depth ^ i;
  bool right = depth == 0 || deep(depth - 1);
  for (int i = 0; i < 200; ++i) right = right && checked[i] == (depth ^ i);
  return right;
}

[[gnu::noinline]] int without_end(int depth) {  // NOLINT(misc-no-recursion)
  char volatile frame[1024];
  frame[0] = static_cast<char>(depth);
  return depth == -1 ? 0 : without_end(depth + 1) + frame[0];
}

TEST(stacks, S29_a_goroutine_that_waits_costs_one_page_of_stack) {
  test::delays_only const quiet;
  constexpr int count = 100;
  run_at(1, [] {
    wait_group gate;
    gate.add(1);
    wait_group all;
    std::vector<rt::G*> parked(count);
    for (rt::G*& mine : parked) {
      all.go([&] {
        mine = &this_g();
        gate.wait();
      });
    }
    EXPECT_TRUE(test::wait_until([] { return test::waiting_for(rt::wait_reason::wait_group) == count; }));
    std::size_t pages = 0;
    for (rt::G const* const g : parked) pages += resident_pages(*g->on);
    // Frames of unoptimised and instrumented code are larger; 64 pages each is what was reserved.
    std::size_t const at_most = rt::debug_checks || rt::with_asan || rt::with_tsan ? 4 : 1;
    EXPECT_LE(pages, count * at_most);
    gate.done();
    all.wait();
  });
}

class stack_sizes : public test::at_every_width {};

TEST_P(stack_sizes, S29_a_goroutine_may_ask_for_any_size_up_to_a_gibibyte) {
  run([&] {
    wait_group all;
    for (std::size_t const bytes : {16UL << 10U, 20'000UL, 1UL << 20U, 64UL << 20U, 1UL << 30U}) {
      all.add(1);
      thrum::go(stack_size{bytes}, [&all, bytes] {
        rt::stack const& on = *this_g().on;
        EXPECT_GE(static_cast<std::size_t>(on.top - on.low), bytes);
        EXPECT_EQ(on.size, bytes);
        thrum::yield();
        // The far end can be written to: one byte in every MiB, down to where the frames might be.
        for (char* at = on.low; at + (128 << 10U) < on.top && at - on.low < (32 << 20U); at += 1 << 20U) {
          *const_cast<char volatile*>(at) = 1;
        }
        all.done();
      });
    }
    all.wait();
    EXPECT_TRUE(spawn(stack_size{8UL << 20U}, [] { return deep(4000); }).join());
  });
}

THRUM_AT_EVERY_WIDTH(stack_sizes);

TEST(stacks, S29_g0_is_the_thread_s_own_stack_and_does_not_grow) {
  run_at(1, [] {
    test::leave_m0();
    auto const thread = rt::os::current_thread_stack();
    EXPECT_GE(thread.high - thread.low, 1 << 20) << "the pthread default, 8 MB unless ulimit -s says otherwise";
    auto const* const g0 = static_cast<char*>(rt::current_m()->g0.sp);
    EXPECT_TRUE(g0 >= thread.low && g0 < thread.high);
  });
}

class stack_overflows : public test::fatal_test {};

TEST_F(stack_overflows, S29_of_main_names_goroutine_1) {
  EXPECT_FATAL(run_at(1, [] { without_end(0); }), "goroutine 1 stack overflow");
}

}  // namespace
}  // namespace thrum
