// T09: a goroutine's stack can be walked to its entry, running or parked.
#include "arch/context.h"
#include "arch/stack_walk.h"
#include "core/current.h"
#include "core/g.h"
#include "stack/stack.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/go.h>
#include <thrum/wait_group.h>

#include <atomic>
#include <cstdint>
#include <iterator>
#include <vector>

#include <gtest/gtest.h>
#include <unwind.h>

extern "C" void thrum_goroutine_entry();  // entry_<architecture>.S

namespace thrum {
namespace {

struct walk {
  std::vector<std::uintptr_t> functions;  // outermost last
  _Unwind_Reason_Code ended = _URC_NO_REASON;
};

_Unwind_Reason_Code note_frame(_Unwind_Context* frame, void* out) {
  auto& functions = static_cast<walk*>(out)->functions;
  auto const pc = _Unwind_GetIP(frame);
  functions.push_back(
      pc == 0 ? 0 : reinterpret_cast<std::uintptr_t>(_Unwind_FindEnclosingFunction(reinterpret_cast<void*>(pc - 1))));
  return functions.size() < 1000 ? _URC_NO_REASON : _URC_NORMAL_STOP;
}

[[gnu::noinline]] walk walk_here() {
  walk result;
  result.ended = _Unwind_Backtrace(note_frame, &result);
  return result;
}

void expect_whole(walk const& walked, std::size_t at_least) {
  EXPECT_EQ(walked.ended, _URC_END_OF_STACK);
  EXPECT_GE(walked.functions.size(), at_least);
  EXPECT_LT(walked.functions.size(), at_least + 60);
  auto functions = walked.functions;
  while (!functions.empty() && functions.back() == 0) functions.pop_back();  // an unwinder may show the end as a frame
  ASSERT_FALSE(functions.empty());
  EXPECT_EQ(functions.back(), reinterpret_cast<std::uintptr_t>(&thrum_goroutine_entry));
}

[[gnu::noinline]] walk walk_deep(int depth) {  // NOLINT(misc-no-recursion)
  if (depth == 0) return walk_here();
  walk result = walk_deep(depth - 1);
  asm volatile("" ::: "memory");  // not a tail call
  return result;
}

class stack_walks : public test::at_every_width {};

TEST_P(stack_walks, T09_the_unwinder_walks_a_goroutine_to_its_entry_and_stops) {
  run([&] {
    expect_whole(walk_deep(20), 20);  // main
    wait_group all;
    for (int i = 0; i < 4; ++i) {
      all.go([&] {
        expect_whole(walk_deep(20), 20);
        thrum::yield();
        expect_whole(walk_deep(20), 20);
      });
    }
    all.wait();
    expect_whole(walk_deep(20), 20);  // main again, on another thread now
  });
}

TEST_P(stack_walks, T07_a_child_that_runs_in_place_shows_its_host_below) {
  run([&] {
    auto host = thrum::spawn([] {
      auto child = thrum::spawn([] { return walk_here(); });
      return child.join();
    });
    expect_whole(host.join(), 5);
  });
}

THRUM_AT_EVERY_WIDTH(stack_walks);

// Calls f with a goroutine that is parked.
template <class F>
void look_at_a_parked_goroutine(F f) {
  test::run_at(2, [&] {
    wait_group forever;
    forever.add(1);
    std::atomic<rt::G*> parked{nullptr};
    wait_group all;
    all.go([&] {
      parked = rt::current_m()->current;
      forever.wait();
    });
    EXPECT_TRUE(test::wait_until([&] { return test::goroutine_is_parked_on(&forever); }));
    f(*parked.load());
    forever.done();
    all.wait();
  });
}

TEST(parked_stack, T09_the_unwinder_walks_a_parked_goroutine_from_its_saved_context) {
  look_at_a_parked_goroutine([](rt::G const& g) {
    std::uintptr_t pcs[100];
    std::size_t const count = rt::walk_stack(rt::registers_of(g.saved), {g.on->low, g.on->top}, pcs, std::size(pcs));
    ASSERT_GT(count, 4U);
    ASSERT_LT(count, std::size(pcs));
    auto const function_at = [&](std::size_t i) {
      return reinterpret_cast<std::uintptr_t>(_Unwind_FindEnclosingFunction(reinterpret_cast<void*>(pcs[i] + 1)));
    };
    EXPECT_EQ(function_at(0), reinterpret_cast<std::uintptr_t>(&rt::switch_context));
    EXPECT_EQ(function_at(count - 1), reinterpret_cast<std::uintptr_t>(&thrum_goroutine_entry));
  });
}

// A parked goroutine by hand, from its saved context: the chain of frame pointers leads to the entry, which has none.
TEST(parked_stack, T09_a_parked_goroutine_can_be_walked_from_its_saved_context) {
  if (!rt::debug_checks) GTEST_SKIP() << "frame pointers are kept in builds with THRUM_DEBUG_CHECKS";
  look_at_a_parked_goroutine([](rt::G const& g) {
    rt::stack const& on = *g.on;
    EXPECT_GE(static_cast<char*>(g.saved.sp), on.low);
    EXPECT_LT(static_cast<char*>(g.saved.sp), on.top);
    auto* frame = static_cast<char*>(g.saved.fp);
    char* below = static_cast<char*>(g.saved.sp);
    int frames = 0;
    while (frame != nullptr && ++frames < 100) {
      ASSERT_GE(frame, below);
      ASSERT_LT(frame, on.top);
      void const* const returns_to = reinterpret_cast<void**>(frame)[1];
      EXPECT_NE(returns_to, nullptr);
      below = frame + 1;
      frame = *reinterpret_cast<char**>(frame);
    }
    EXPECT_EQ(frame, nullptr) << "the chain has an end";
    EXPECT_GT(frames, 3);
  });
}

}  // namespace
}  // namespace thrum
