// Contexts that end by themselves (CX-02).
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

// Ends, not before its deadline, and says why.
void expect_timeout(context const& ctx) {
  ASSERT_TRUE(ctx.deadline().has_value());
  EXPECT_EQ(ctx.done().recv(), std::nullopt);
  EXPECT_GE(clock::now(), *ctx.deadline());
  EXPECT_EQ(ctx.err(), context_errc::deadline_exceeded);
  EXPECT_EQ(ctx.err(), std::errc::timed_out);
  try {
    ctx.throw_if_done();
    ADD_FAILURE() << "nothing was thrown";
  } catch (std::system_error const& e) {
    EXPECT_EQ(e.code(), std::errc::timed_out);
  }
}

class context_deadline : public at_every_width {};
THRUM_AT_EVERY_WIDTH(context_deadline);

TEST_P(context_deadline, CX02_in_a_millisecond_now_and_a_millisecond_ago) {
  run([] {
    context const root;
    for (auto const d : {1ms, 0ms, -1ms, 7ms}) {
      expect_timeout(with_timeout(root, d).ctx);
      expect_timeout(with_deadline(root, clock::now() + d).ctx);
      expect_timeout(with_deadline(root, std::chrono::system_clock::now() + d).ctx);
      expect_timeout(with_value(with_timeout(root, d).ctx, 1));
    }
    EXPECT_EQ(with_timeout(root, -1ms).ctx.err(), context_errc::deadline_exceeded) << "at once";
    EXPECT_EQ(with_deadline(root, clock::time_point::min()).ctx.err(), context_errc::deadline_exceeded);
    EXPECT_EQ(with_timeout(root, std::chrono::hours::min()).ctx.err(), context_errc::deadline_exceeded);
  });
}

TEST_P(context_deadline, CX02_a_long_child_under_a_short_parent) {
  run([] {
    auto const parent = with_timeout(context::background(), 2ms);
    auto const child = with_timeout(parent.ctx, 1h);
    EXPECT_EQ(child.ctx.deadline(), parent.ctx.deadline());
    expect_timeout(child.ctx);
    EXPECT_EQ(parent.ctx.err(), context_errc::deadline_exceeded);
  });
}

TEST_P(context_deadline, CX02_a_short_child_under_a_long_parent) {
  run([] {
    auto const parent = with_timeout(context::background(), 1h);
    auto const child = with_timeout(parent.ctx, 2ms);
    auto const sibling = with_cancel(parent.ctx);
    EXPECT_LT(*child.ctx.deadline(), *parent.ctx.deadline());
    EXPECT_EQ(sibling.ctx.deadline(), parent.ctx.deadline());
    expect_timeout(child.ctx);
    EXPECT_FALSE(parent.ctx.err());
    EXPECT_FALSE(sibling.ctx.err());
    EXPECT_FALSE(without_cancel(child.ctx).deadline());
  });
}

TEST_P(context_deadline, one_that_is_never_reached) {
  run([] {
    for (auto const& ctx : {with_timeout(context::background(), std::chrono::hours::max()).ctx,
                            with_deadline(context::background(), clock::time_point::max()).ctx,
                            with_deadline(context::background(), std::chrono::steady_clock::time_point::max()).ctx}) {
      EXPECT_FALSE(ctx.err());
      auto const below = with_timeout(ctx, 1ms);
      expect_timeout(below.ctx);
      EXPECT_FALSE(ctx.err());
    }
  });
}

TEST_P(context_deadline, cancelled_before_it) {
  run([] {
    auto const parent = with_timeout(context::background(), 1h);
    auto const child = with_timeout(parent.ctx, 30min);
    child.cancel();
    EXPECT_EQ(child.ctx.err(), context_errc::canceled);
    auto const other = with_timeout(parent.ctx, 30min);
    parent.cancel();
    EXPECT_EQ(parent.ctx.err(), context_errc::canceled);
    EXPECT_EQ(other.ctx.err(), context_errc::canceled);
    auto const late = with_timeout(parent.ctx, -1ms);
    EXPECT_EQ(late.ctx.err(), context_errc::canceled) << "the parent was first";
    EXPECT_EQ(with_timeout(parent.ctx, 1ms).ctx.err(), context_errc::canceled);
  });
}

TEST_P(context_deadline, no_timer_outlives_its_use) {
  run([] {
    auto const parent = with_timeout(context::background(), 1h);
    std::vector<context> kept;
    for (int i = 0; i < 100; ++i) {
      auto const dropped = with_timeout(parent.ctx, 30min);
      auto const cancelled = with_timeout(dropped.ctx, 20min);
      cancelled.cancel();
      kept.push_back(cancelled.ctx);
      kept.push_back(with_timeout(parent.ctx, 10min).ctx);
    }
    EXPECT_EQ(timers_pending(), 201U) << "a cancelled one keeps its parent";
    parent.cancel();
    EXPECT_EQ(timers_pending(), 0U);
    static_cast<void>(with_timeout(context::background(), 1h));
    EXPECT_EQ(timers_pending(), 0U);
  });
}

TEST_P(context_deadline, no_goroutine_waits_for_it) {
  run([] {
    std::vector<cancelable> many;
    int const before = num_goroutines();
    for (int i = 0; i < 1000; ++i) many.push_back(with_timeout(context::background(), 1h));
    EXPECT_EQ(num_goroutines(), before);
  });
}

// The end of the deadline, of the parent and of the context itself, in all orders.
TEST_P(context_deadline, races_with_everything) {
  run([] {
    for (std::int64_t round = 0; round < scaled(1000, 50); ++round) {
      auto const parent = with_cancel(context::background());
      std::optional<cancelable> one = with_timeout(parent.ctx, std::chrono::microseconds(round % 50));
      wait_group all;
      if (round % 2 == 0) {
        all.go([ctx = one->ctx] {
          EXPECT_EQ(ctx.done().recv(), std::nullopt);
          EXPECT_TRUE(ctx.err());
        });
      }
      if (round % 3 != 0) all.go([&] { parent.cancel(); });
      if (round % 5 == 0) all.go([cancel = one->cancel] { cancel(); });
      one.reset();
      all.wait();
    }
  });
}

TEST_P(context_deadline, ends_a_group) {
  run([] {
    auto const limit = with_timeout(context::background(), 2ms);
    group members(limit.ctx);
    for (int i = 0; i < 10; ++i) {
      members.go([&] {
        while (!members.context().err()) yield();
        members.context().throw_if_done();
      });
    }
    try {
      members.wait();
      FAIL() << "nothing was thrown";
    } catch (context_error const& e) {
      EXPECT_EQ(e.code(), context_errc::deadline_exceeded);
    }
  });
}

TEST(context_deadline_outside, only_what_needs_no_timer_works) {
  EXPECT_THROW(static_cast<void>(with_timeout(context::background(), 1ms)), std::logic_error);
  EXPECT_EQ(with_timeout(context::background(), -1ms).ctx.err(), context_errc::deadline_exceeded);
}

TEST(context_deadline_outside, T12_a_context_may_outlive_its_run) {
  std::optional<cancelable> left;
  std::optional<cancelable> dropped;
  run_at(2, [&] {
    left = with_timeout(context::background(), 1h);
    dropped = with_timeout(context::background(), 1ms);
  });
  dropped.reset();
  EXPECT_FALSE(left->ctx.err());
  run_at(2, [&] {
    auto const below = with_timeout(left->ctx, 1ms);
    expect_timeout(below.ctx);
    left->cancel();
    EXPECT_EQ(left->ctx.err(), context_errc::canceled);
  });
}

}  // namespace
}  // namespace thrum::test
