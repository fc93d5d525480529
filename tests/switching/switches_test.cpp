// T11, T02: which way a goroutine leaves: straight to the next, without a switch at all, or through g0.
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/slices.h"
#include <thrum/thrum.h>

#include <cstdint>
#include <ostream>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using test::run_at;
using test::this_p;

struct ways {
  std::uint64_t direct = 0;
  std::uint64_t via_g0 = 0;
  std::uint64_t handovers = 0;
  bool operator==(ways const&) const = default;

  static ways now() {
    rt::p_counters const& c = this_p().counters;
    return {c.switches_direct.load(rt::relaxed), c.switches_via_g0.load(rt::relaxed),
            c.stack_handovers.load(rt::relaxed)};
  }
  ways operator-(ways const& earlier) const {
    return {direct - earlier.direct, via_g0 - earlier.via_g0, handovers - earlier.handovers};
  }
};

std::ostream& operator<<(std::ostream& out, ways const& w) {
  return out << w.direct << " direct, " << w.via_g0 << " through g0, " << w.handovers << " handovers";
}

TEST(ways_to_leave, T11_two_that_yield_switch_straight_to_each_other) {
  test::in_run_order const undisturbed;
  run_at(1, [] {
    test::leave_m0();
    bool over = false;
    wait_group all;
    all.go([&] {
      while (!over) thrum::yield();
    });
    thrum::yield();  // it has a stack now
    ways const before = ways::now();
    for (int i = 0; i < 1000; ++i) thrum::yield();
    ways const used = ways::now() - before;
    EXPECT_EQ(used, (ways{.direct = 2000, .via_g0 = 0, .handovers = 0}));
    over = true;
    all.wait();
  });
}

TEST(ways_to_leave, T11_a_goroutine_that_ends_hands_its_stack_to_the_next_without_a_switch) {
  test::in_run_order const undisturbed;
  run_at(1, [] {
    test::leave_m0();
    test::stay_clear_of_the_global_turn(30);
    for (int i = 0; i < 10; ++i) thrum::go([] {});
    ways const before = ways::now();
    thrum::yield();
    ways const used = ways::now() - before;
    EXPECT_EQ(used, (ways{.direct = 2, .via_g0 = 0, .handovers = 9})) << "to the first, and from the last back to us";
  });
}

TEST(ways_to_leave, T11_a_stack_of_another_size_is_not_handed_over) {
  test::in_run_order const undisturbed;
  run_at(1, [] {
    test::leave_m0();
    test::stay_clear_of_the_global_turn(30);
    thrum::go([] {});
    thrum::go(stack_size{1 << 20U}, [] {});
    ways const before = ways::now();
    thrum::yield();
    EXPECT_EQ((ways::now() - before).handovers, 0U);
  });
}

// The context that the thread switches to releases the lock of the wait queue. A goroutine that has no stack would hold
// the lock during a page fault, so the thread switches to g0 first.
TEST(ways_to_leave, T11_a_park_that_holds_a_lock_goes_through_g0_to_an_unstarted_goroutine) {
  test::in_run_order const undisturbed;
  run_at(1, [] {
    test::leave_m0();
    test::stay_clear_of_the_global_turn(30);
    wait_group signal;
    signal.add(1);
    thrum::go([&] { signal.done(); });
    ways const before = ways::now();
    signal.wait();
    ways const used = ways::now() - before;
    EXPECT_EQ(used.via_g0, 1U);
    EXPECT_EQ(used.direct, 1U) << "back to this goroutine, which has a stack";
  });
}

TEST(ways_to_leave, T11_and_straight_to_one_that_has_begun) {
  test::in_run_order const undisturbed;
  run_at(1, [] {
    test::leave_m0();
    test::stay_clear_of_the_global_turn(30);
    wait_group signal;
    signal.add(1);
    wait_group all;
    all.go([&] {
      thrum::yield();
      signal.done();
    });
    thrum::yield();  // it has begun
    ways const before = ways::now();
    signal.wait();
    EXPECT_EQ((ways::now() - before).via_g0, 0U);
    all.wait();
  });
}

TEST(ways_to_leave, T02_main_leaves_the_first_thread_through_g0) {
  test::in_run_order const undisturbed;
  run_at(1, [] {
    ASSERT_EQ(rt::current_m()->id, 0);
    wait_group all;
    all.go([] {});
    ways const before = ways::now();
    all.wait();
    EXPECT_GE((ways::now() - before).via_g0, 1U);
    EXPECT_NE(rt::current_m()->id, 0);
  });
}

TEST(ways_to_leave, a_goroutine_alone_does_not_leave_at_all) {
  run_at(1, [] {
    ways const before = ways::now();
    for (int i = 0; i < 1000; ++i) thrum::yield();
    EXPECT_EQ(ways::now() - before, ways());
    EXPECT_EQ(rt::current_m()->id, 0) << "main is still where it began";
  });
}

}  // namespace
}  // namespace thrum
