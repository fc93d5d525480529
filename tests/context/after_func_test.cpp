// after_func: a function that is called when a context is done (Go's TestAfterFunc...).
#include "base/atomic.h"
#include "chan/cancel_node.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

class context_after_func : public at_every_width {};
THRUM_AT_EVERY_WIDTH(context_after_func);

TEST_P(context_after_func, is_called_once_in_a_goroutine_of_its_own) {
  run([] {
    auto const top = with_cancel(context::background());
    context const below = with_value(with_cancel(top.ctx).ctx, 1);
    std::uint64_t const here = this_goroutine::id();
    chan<std::uint64_t> called(10);
    auto callback = after_func(below, [&] { called.send(this_goroutine::id()); });
    for (int i = 0; i < 3; ++i) yield();
    EXPECT_EQ(called.size(), 0U);
    top.cancel();
    EXPECT_NE(called.recv(), here);
    EXPECT_FALSE(callback.stop()) << "too late";
    top.cancel();
    for (int i = 0; i < 3; ++i) yield();
    EXPECT_EQ(called.size(), 0U);
  });
}

TEST_P(context_after_func, of_a_context_that_is_done_is_called_at_once) {
  run([] {
    auto const one = with_cancel(context::background());
    one.cancel();
    chan<int> called;
    auto callback = after_func(one.ctx, [&] { called.send(1); });
    EXPECT_EQ(called.recv(), 1);
    EXPECT_FALSE(callback.stop());
  });
}

TEST_P(context_after_func, one_that_was_stopped_is_not_called) {
  run([] {
    auto const one = with_cancel(context::background());
    rt::atomic<int> called{0};
    auto callback = after_func(one.ctx, [&] { called.fetch_add(1, rt::relaxed); });
    EXPECT_TRUE(callback.stop());
    EXPECT_FALSE(callback.stop());
    EXPECT_EQ(one.ctx.node().get()->canceled_with->members, nullptr);
    one.cancel();
    for (int i = 0; i < 10; ++i) yield();
    EXPECT_EQ(called.load(rt::relaxed), 0);
  });
}

TEST_P(context_after_func, goes_on_without_its_handle_and_keeps_its_context) {
  run([] {
    auto const top = with_cancel(context::background());
    chan<int> called(2);
    {
      auto const below = with_cancel(top.ctx);
      static_cast<void>(after_func(below.ctx, [&] { called.send(1); }));
    }
    EXPECT_NE(top.ctx.node().get()->canceled_with->members, nullptr);
    top.cancel();
    EXPECT_EQ(called.recv(), 1);
    EXPECT_EQ(top.ctx.node().get()->canceled_with->members, nullptr);
  });
}

TEST_P(context_after_func, on_the_background_is_never_called_but_can_be_stopped) {
  run([] {
    auto callback = after_func(context::background(), [] { FAIL(); });
    EXPECT_TRUE(callback.stop());
    EXPECT_FALSE(callback.stop());
  });
}

TEST_P(context_after_func, several_of_one_context_and_children_between_them) {
  run([] {
    auto const top = with_cancel(context::background());
    wait_group called;
    called.add(300);
    std::vector<cancelable> children;
    for (int i = 0; i < 100; ++i) {
      static_cast<void>(after_func(top.ctx, [&] { called.done(); }));
      children.push_back(with_cancel(top.ctx));
      static_cast<void>(after_func(children.back().ctx, [&] { called.done(); }));
      static_cast<void>(after_func(children.back().ctx, [&, ctx = children.back().ctx] {
        EXPECT_EQ(ctx.err(), context_errc::canceled);
        called.done();
      }));
    }
    top.cancel();
    called.wait();
  });
}

TEST_P(context_after_func, what_it_holds_is_destroyed_whether_it_is_called_or_not) {
  run([] {
    auto const held = std::make_shared<int>(1);
    {
      auto const one = with_cancel(context::background());
      auto stopped = after_func(one.ctx, [held] {});
      EXPECT_TRUE(stopped.stop());
      static_cast<void>(after_func(one.ctx, [held] {}));
      static_cast<void>(after_func(context::background(), [held] {}));
      one.cancel();
    }
    EXPECT_TRUE(wait_until([&] { return held.use_count() == 1; }));
  });
}

TEST_P(context_after_func, stop_and_cancel_race_for_it) {
  run([] {
    for (std::int64_t round = 0; round < scaled(3000, 100); ++round) {
      auto const one = with_cancel(context::background());
      rt::atomic<int> outcomes{0};
      wait_group all;
      all.add(1);
      auto callback = after_func(one.ctx, [&] {
        outcomes.fetch_add(1, rt::relaxed);
        all.done();
      });
      all.go([&] { one.cancel(); });
      all.go([&] {
        if (callback.stop()) {
          outcomes.fetch_add(1, rt::relaxed);
          all.done();
        }
      });
      all.wait();
      ASSERT_EQ(outcomes.load(rt::relaxed), 1) << "round " << round;
    }
  });
}

TEST(context_after_func_errors, an_empty_function_is_refused) {
  auto const one = with_cancel(context::background());
  EXPECT_THROW(static_cast<void>(after_func(one.ctx, std::function<void()>())), std::invalid_argument);
}

}  // namespace
}  // namespace thrum::test
