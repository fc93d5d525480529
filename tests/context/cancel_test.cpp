// Cancelling contexts (CX-01): at once, downwards only, and nothing is left behind.
#include "chan/cancel_node.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

bool is_closed(context const& ctx) { return ctx.done().try_recv().closed; }

// Neither err() nor cause() nor done() says anything.
void expect_alive(context const& ctx) {
  EXPECT_FALSE(ctx.err());
  EXPECT_EQ(ctx.cause(), nullptr);
  EXPECT_FALSE(is_closed(ctx));
  EXPECT_FALSE(ctx.get_stop_token().stop_requested());
  EXPECT_NO_THROW(ctx.throw_if_done());
}

// All of them do.
void expect_done(context const& ctx, context_errc error = context_errc::canceled) {
  EXPECT_EQ(ctx.err(), error);
  EXPECT_TRUE(is_closed(ctx));
  EXPECT_NE(ctx.cause(), nullptr);
  EXPECT_TRUE(ctx.get_stop_token().stop_requested());
}

// How many are told when ctx is cancelled.
std::size_t members_of(context const& ctx) {
  detail::cancel_node& node = *ctx.node().get()->canceled_with;
  detail::node_guard const guard(node);
  std::size_t count = 0;
  for (detail::cancel_link const* member = node.members; member != nullptr; member = member->next) ++count;
  return count;
}

// What a user may make of a context: something that has one, and something that is one.
struct request {
  context ctx;
  int number = 0;
};
struct traced : context {
  explicit traced(context const& ctx) : context(ctx) {}
};

class context_cancel : public at_every_width {};
THRUM_AT_EVERY_WIDTH(context_cancel);

TEST_P(context_cancel, CX01_the_background_is_never_done) {
  run([] {
    context const root = context::background();
    expect_alive(root);
    EXPECT_FALSE(root.done()) << "the nil channel";
    EXPECT_FALSE(root.deadline());
    EXPECT_EQ(root, context());
    EXPECT_FALSE(root.get_stop_token().stop_possible());
  });
}

TEST_P(context_cancel, CX01_when_cancel_returns_every_descendant_is_done) {
  run([] {
    auto const top = with_cancel(context::background());
    auto const child = with_cancel(top.ctx);
    auto const grandchild = with_cancel(child.ctx);
    context const value = with_value(grandchild.ctx, "user", 7);
    request const has{with_cancel(value).ctx, 1};
    traced const is{with_cancel(has.ctx).ctx};
    auto const below_both = with_cancel(is);
    auto const all = {top.ctx,       child.ctx, grandchild.ctx, value, has.ctx, static_cast<context const&>(is),
                      below_both.ctx};
    for (auto const& ctx : all) {
      expect_alive(ctx);
      EXPECT_TRUE(ctx.done()) << "not nil";
    }
    top.cancel();
    for (auto const& ctx : all) expect_done(ctx);
    expect_alive(context::background());
    for (int i = 0; i < 3; ++i) {
      for (auto const& ctx : all) expect_done(ctx);  // and remains so
      below_both.cancel();
      top.cancel();
    }
  });
}

TEST_P(context_cancel, CX01_without_anybody_having_asked_before) {
  run([] {
    auto const top = with_cancel(context::background());
    auto const child = with_cancel(top.ctx);
    top.cancel();
    EXPECT_EQ(child.ctx.err(), context_errc::canceled);
    EXPECT_EQ(top.ctx.err(), context_errc::canceled);
    expect_done(child.ctx);  // the channel and the token are made only now
    expect_done(top.ctx);
  });
}

TEST_P(context_cancel, neither_its_parent_nor_its_siblings_are_touched) {
  run([] {
    auto const top = with_cancel(context::background());
    auto const left = with_cancel(top.ctx);
    auto const right = with_cancel(top.ctx);
    auto const below_left = with_cancel(left.ctx);
    left.cancel();
    expect_done(left.ctx);
    expect_done(below_left.ctx);
    expect_alive(top.ctx);
    expect_alive(right.ctx);
  });
}

TEST_P(context_cancel, a_child_of_a_cancelled_parent_is_born_done) {
  run([] {
    auto const top = with_cancel(context::background());
    top.cancel(std::runtime_error("why"));
    auto const child = with_cancel(with_value(top.ctx, 1));
    expect_done(child.ctx);
    EXPECT_EQ(child.ctx.cause(), top.ctx.cause());
    expect_done(with_cancel(child.ctx).ctx);
    EXPECT_EQ(members_of(top.ctx), 0U);
  });
}

TEST_P(context_cancel, waiters_on_done_are_woken) {
  run([] {
    auto const top = with_cancel(context::background());
    auto const child = with_cancel(top.ctx);
    wait_group woken;
    constexpr int each = 20;
    for (int i = 0; i < each; ++i) {
      woken.go([&] {
        EXPECT_EQ(top.ctx.done().recv(), std::nullopt);
        EXPECT_EQ(top.ctx.err(), context_errc::canceled);
      });
      woken.go([&] {
        chan<int> never;
        EXPECT_EQ(select(on_recv(never), on_recv(child.ctx.done())), 1U);
        EXPECT_EQ(child.ctx.err(), context_errc::canceled);
      });
    }
    for (int i = 0; i < each; ++i) yield();
    top.cancel();
    woken.wait();
  });
}

TEST_P(context_cancel, done_is_the_same_channel_before_and_after) {
  run([] {
    auto const one = with_cancel(context::background());
    auto const before = one.ctx.done();
    EXPECT_EQ(before, one.ctx.done());
    EXPECT_EQ(before, with_value(one.ctx, 1).done()) << "a value has no channel of its own";
    one.cancel();
    EXPECT_EQ(before, one.ctx.done());
  });
}

TEST_P(context_cancel, a_context_that_is_destroyed_is_forgotten_by_its_parent) {
  run([] {
    auto const top = with_cancel(context::background());
    EXPECT_EQ(members_of(top.ctx), 0U);
    {
      auto const first = with_cancel(top.ctx);
      auto const second = with_cancel(with_value(top.ctx, 1));
      auto third = with_cancel(top.ctx);
      EXPECT_EQ(members_of(top.ctx), 3U);
      second.cancel();  // from the middle
      EXPECT_EQ(members_of(top.ctx), 2U);
      third = with_cancel(context::background());  // unused: no cancel is needed
      EXPECT_EQ(members_of(top.ctx), 1U);
      auto const kept = with_cancel(first.ctx);
      EXPECT_EQ(members_of(top.ctx), 1U);
    }
    EXPECT_EQ(members_of(top.ctx), 0U);
    auto const holder = [&] { return with_value(with_cancel(top.ctx).ctx, 1); }();
    EXPECT_EQ(members_of(top.ctx), 1U) << "a value keeps what is above it";
  });
}

TEST_P(context_cancel, without_cancel_keeps_only_the_values) {
  run([] {
    auto const top = with_cancel(with_value(context::background(), "key", 5));
    context const detached = without_cancel(top.ctx);
    auto const below = with_cancel(detached);
    EXPECT_EQ(members_of(top.ctx), 0U);
    top.cancel();
    expect_alive(detached);
    EXPECT_FALSE(detached.done());
    expect_alive(below.ctx);
    ASSERT_NE(below.ctx.value<int>("key"), nullptr);
    EXPECT_EQ(*below.ctx.value<int>("key"), 5);
    below.cancel();
    expect_done(below.ctx);
    EXPECT_EQ(without_cancel(context::background()), context::background());
  });
}

// A recursion per generation would not fit any stack.
TEST_P(context_cancel, long_chains_and_broad_trees) {
  run([] {
    std::int64_t const depth = scaled(100'000, 10'000);
    auto const top = with_cancel(context::background());
    context newest = top.ctx;
    for (std::int64_t i = 0; i < depth; ++i) newest = with_cancel(newest).ctx;
    expect_alive(newest);
    std::vector<context> broad;
    for (std::int64_t i = 0; i < depth; ++i) broad.push_back(with_cancel(top.ctx).ctx);
    EXPECT_EQ(members_of(top.ctx), static_cast<std::size_t>(depth) + 1);
    top.cancel();
    expect_done(newest);
    for (auto const& ctx : broad) ASSERT_EQ(ctx.err(), context_errc::canceled);
    EXPECT_EQ(members_of(top.ctx), 0U);
  });
}

// With one P, a goroutine that has run was switched to.
TEST(context_cancel_alone, T06_cancel_never_switches) {
  in_run_order const undisturbed;
  run_at(1, [] {
    int ran = 0;
    auto const top = with_cancel(context::background());
    wait_group all;
    for (int i = 0; i < 10; ++i) {
      all.go([&, below = with_cancel(top.ctx).ctx] {
        static_cast<void>(below.done().recv());
        ++ran;
      });
    }
    for (int i = 0; i < 20; ++i) yield();
    top.cancel();
    EXPECT_EQ(ran, 0);
    all.wait();
    EXPECT_EQ(ran, 10);
  });
}

// What is not waited for can be cancelled anywhere.
TEST(context_outside, a_plain_thread_may_cancel_what_no_goroutine_waits_for) {
  auto const top = with_cancel(context::background());
  auto const child = with_cancel(top.ctx);
  auto const asked = child.ctx.done();
  std::jthread([&] { top.cancel(); }).join();
  expect_done(top.ctx);
  expect_done(child.ctx);
  run_at(2, [&] {
    EXPECT_EQ(asked.recv(), std::nullopt);
    expect_done(with_cancel(child.ctx).ctx);
  });
}

TEST(context_outside, S38_a_plain_thread_cancels_what_a_goroutine_waits_for) {
  run_at(2, [] {
    auto const top = with_cancel(context::background());
    auto const child = with_cancel(top.ctx);
    auto const after = with_cancel(top.ctx);
    wait_group woken;
    rt::atomic<rt::G*> waiter{nullptr};
    woken.go([&] {
      waiter.store(&this_g(), rt::release);
      EXPECT_EQ(child.ctx.done().recv(), std::nullopt);
    });
    auto const waits = [&] {
      rt::G const* const g = waiter.load(rt::acquire);
      return g != nullptr && g->status.load(rt::acquire) == rt::g_status::waiting;
    };
    ASSERT_TRUE(wait_until(waits));
    std::jthread([&] { top.cancel(); }).join();
    woken.wait();
    expect_done(child.ctx);
    expect_done(after.ctx);
    EXPECT_EQ(members_of(top.ctx), 0U);
  });
}

TEST(context_errors, are_error_codes_and_exceptions) {
  std::error_code const canceled = context_errc::canceled;
  std::error_code const late = context_errc::deadline_exceeded;
  EXPECT_EQ(canceled, std::errc::operation_canceled);
  EXPECT_EQ(late, std::errc::timed_out);
  EXPECT_NE(canceled, std::errc::timed_out);
  EXPECT_NE(canceled, late);
  EXPECT_EQ(canceled.message(), "context canceled");
  EXPECT_EQ(late.message(), "context deadline exceeded");
  auto const one = with_cancel(context::background());
  one.cancel();
  try {
    one.ctx.throw_if_done();
    FAIL() << "nothing was thrown";
  } catch (std::system_error const& e) {
    EXPECT_EQ(e.code(), std::errc::operation_canceled);
    EXPECT_NE(std::string(e.what()).find("context canceled"), std::string::npos) << e.what();
  }
  auto const other = with_cancel(context::background());
  other.cancel(std::runtime_error("the cable"));
  EXPECT_EQ(other.ctx.err(), context_errc::canceled);
  EXPECT_THROW(other.ctx.throw_if_done(), std::runtime_error);
}

}  // namespace
}  // namespace thrum::test
