// Contexts and std::stop_token: each can be made from the other.
#include "support/run_at.h"
#include "support/scale.h"
#include <thrum/thrum.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

class context_stop_token : public at_every_width {};
THRUM_AT_EVERY_WIDTH(context_stop_token);

TEST_P(context_stop_token, a_context_is_cancelled_by_its_token) {
  run([] {
    std::stop_source source;
    context const ctx(source.get_token());
    auto const below = with_cancel(with_value(ctx, 1));
    EXPECT_FALSE(ctx.err());
    wait_group woken;
    woken.go([&] { EXPECT_EQ(below.ctx.done().recv(), std::nullopt); });
    yield();
    source.request_stop();
    EXPECT_EQ(ctx.err(), context_errc::canceled);
    EXPECT_EQ(below.ctx.err(), context_errc::canceled);
    woken.wait();
    EXPECT_EQ(context(source.get_token()).err(), context_errc::canceled) << "of a token that is stopped already";
  });
}

TEST_P(context_stop_token, a_token_is_stopped_by_its_context) {
  run([] {
    auto const top = with_cancel(context::background());
    auto const below = with_cancel(top.ctx);
    std::stop_token const token = below.ctx;  // converts
    EXPECT_TRUE(token.stop_possible());
    EXPECT_EQ(token, below.ctx.get_stop_token());
    int called = 0;
    std::stop_callback const callback(token, [&] { ++called; });
    EXPECT_FALSE(token.stop_requested());
    top.cancel();
    EXPECT_TRUE(token.stop_requested());
    EXPECT_EQ(called, 1) << "inside cancel()";
    top.cancel();
    below.cancel();
    EXPECT_EQ(called, 1);
  });
}

TEST_P(context_stop_token, there_and_back_again) {
  run([] {
    std::stop_source source;
    context const there(source.get_token());
    context const back(there.get_stop_token());
    context const again(back.get_stop_token());
    EXPECT_FALSE(again.err());
    source.request_stop();
    EXPECT_EQ(again.err(), context_errc::canceled);
  });
}

TEST_P(context_stop_token, a_callback_may_use_and_drop_contexts) {
  run([] {
    auto const top = with_cancel(context::background());
    std::optional<cancelable> child = with_cancel(top.ctx);
    std::optional<cancelable> sibling = with_cancel(top.ctx);
    auto const drop = [&] {
      child.reset();
      sibling.reset();
      EXPECT_EQ(with_cancel(top.ctx).ctx.err(), context_errc::canceled);
    };
    std::stop_callback const callback(child->ctx.get_stop_token(), drop);
    top.cancel();
    EXPECT_FALSE(child.has_value());
  });
}

TEST_P(context_stop_token, a_callback_may_drop_what_is_being_cancelled) {
  run([] {
    std::optional<cancelable> top = with_cancel(context::background());
    std::stop_callback const callback(top->ctx.get_stop_token(), [&] { top.reset(); });
    top->cancel();
    EXPECT_FALSE(top.has_value());
  });
}

// The last reference to a context made from a token goes away inside the token's own callback.
TEST_P(context_stop_token, a_context_may_die_in_the_callback_of_its_own_token) {
  run([] {
    std::stop_source source;
    std::optional<context> ctx(source.get_token());
    std::stop_callback const callback(ctx->get_stop_token(), [&] { ctx.reset(); });
    source.request_stop();
    EXPECT_FALSE(ctx.has_value());
  });
}

TEST_P(context_stop_token, a_stop_races_with_the_end_of_the_context) {
  run([] {
    for (std::int64_t round = 0; round < scaled(2000, 100); ++round) {
      std::stop_source source;
      wait_group both;
      auto ctx = std::make_unique<context>(source.get_token());
      auto below = with_cancel(*ctx);
      both.go([&] { source.request_stop(); });
      both.go([&] {
        ctx.reset();
        auto const last = std::exchange(below, with_cancel(context::background()));
      });
      both.wait();
    }
  });
}

TEST_P(context_stop_token, a_select_has_a_case_for_it) {
  run([] {
    std::stop_source source;
    chan<int> const c(1);
    int stops = 0;
    auto const look = [&] { return select(on_recv(c), on_stop(source.get_token(), [&] { ++stops; }), otherwise()); };
    EXPECT_EQ(look(), 2U);
    c.send(1);
    EXPECT_EQ(look(), 0U);
    wait_group all;
    for (int i = 0; i < 4; ++i) {
      all.go([&] { EXPECT_EQ(select(on_recv(c), on_stop(source.get_token())), 1U); });
    }
    all.go([&] { source.request_stop(); });
    all.wait();
    EXPECT_EQ(look(), 1U);
    EXPECT_EQ(stops, 1);
    EXPECT_EQ(select(on_stop(std::stop_token()), otherwise()), 1U) << "never ready";
    std::vector<select_case> cases;
    cases.emplace_back(on_recv(c));
    cases.emplace_back(on_stop(source.get_token(), [&] { ++stops; }));
    EXPECT_EQ(select(cases), 1U);
    EXPECT_EQ(stops, 2);
  });
}

TEST(context_stop_token_outside, what_knows_only_tokens_waits_for_a_context) {
  auto const top = with_cancel(context::background());
  std::mutex guard;
  std::condition_variable_any changed;
  std::jthread waiter([&] {
    std::unique_lock lock(guard);
    EXPECT_FALSE(changed.wait(lock, top.ctx.get_stop_token(), [] { return false; }));
  });
  top.cancel();
}

TEST(context_stop_token_outside, a_token_that_cannot_be_stopped_makes_the_background) {
  EXPECT_EQ(context(std::stop_token()), context::background());
}

}  // namespace
}  // namespace thrum::test
