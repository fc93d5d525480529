// Values of contexts: keys match by type and value (CX-05).
#include "support/allocations.h"
#include <thrum/thrum.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

enum class color { red, green };
enum class fruit { apple, orange };
struct user {
  std::string name;
};

template <class T>
T value_or_none(T const* found) {
  return found == nullptr ? T{} : *found;
}

TEST(context_values, CX05_keys_match_by_type_and_value) {
  context const root = context::background();
  EXPECT_EQ(root.value<std::string>(color::red), nullptr);
  context const c1 = with_value(root, color::red, std::string("c1"));
  context const c2 = with_value(c1, fruit::apple, std::string("c2"));
  context const c3 = with_value(c2, 0, std::string("c3"));
  context const c4 = with_value(c3, color::red, std::string("c4"));  // hides c1's
  auto const look = [](context const& in, auto key) { return value_or_none(in.value<std::string>(key)); };
  EXPECT_EQ(look(c1, color::red), "c1");
  EXPECT_EQ(look(c1, fruit::apple), "");
  EXPECT_EQ(look(c3, color::red), "c1");
  EXPECT_EQ(look(c3, fruit::apple), "c2");
  EXPECT_EQ(look(c3, 0), "c3");
  EXPECT_EQ(look(c3, 0L), "") << "of another type";
  EXPECT_EQ(look(c3, color::green), "") << "of another value";
  EXPECT_EQ(look(c4, color::red), "c4");
  EXPECT_EQ(look(c4, fruit::apple), "c2");
  EXPECT_EQ(look(c3, color::red), "c1") << "the parent is as it was";
}

TEST(context_values, text_is_one_type_of_key) {
  context const ctx = with_value(context::background(), "request", 5);
  EXPECT_EQ(value_or_none(ctx.value<int>("request")), 5);
  EXPECT_EQ(value_or_none(ctx.value<int>(std::string("request"))), 5);
  EXPECT_EQ(value_or_none(ctx.value<int>(std::string_view("request"))), 5);
  char const elsewhere[] = "request";
  EXPECT_EQ(value_or_none(ctx.value<int>(static_cast<char const*>(elsewhere))), 5) << "by text, not by address";
  EXPECT_EQ(ctx.value<int>("other"), nullptr);
}

TEST(context_values, by_type_alone) {
  context const ctx = with_value(with_value(context::background(), user{"ada"}), 7L);
  ASSERT_NE(ctx.value<user>(), nullptr);
  EXPECT_EQ(ctx.value<user>()->name, "ada");
  EXPECT_EQ(value_or_none(ctx.value<long>()), 7);
  EXPECT_EQ(ctx.value<int>(), nullptr);
  EXPECT_EQ(with_value(ctx, user{"grace"}).value<user>()->name, "grace");
}

TEST(context_values, of_another_type_is_no_value) {
  context const inner = with_value(context::background(), "key", 5);
  EXPECT_EQ(inner.value<long>("key"), nullptr);
  context const ctx = with_value(inner, "key", std::string("hides it"));
  EXPECT_EQ(ctx.value<int>("key"), nullptr);
}

TEST(context_values, live_and_die_with_the_newest_context) {
  auto const shared = std::make_shared<int>(1);
  std::weak_ptr<int> const watch = shared;
  {
    context newest;
    {
      auto const middle = with_cancel(with_value(context::background(), "it", shared));
      newest = with_value(middle.ctx, "more", 1);
    }
    EXPECT_EQ(watch.use_count(), 2);
    EXPECT_EQ(newest.value<std::shared_ptr<int>>("it")->get(), shared.get());
  }
  EXPECT_EQ(watch.use_count(), 1);
}

TEST(context_values, may_be_movable_only) {
  context const ctx = with_value(context::background(), "it", std::make_unique<int>(3));
  EXPECT_EQ(**ctx.value<std::unique_ptr<int>>("it"), 3);
}

TEST(context_values, one_that_cannot_be_made_leaves_everything_as_it_was) {
  struct throws {
    throws() = default;
    [[noreturn]] throws(throws const&) { throw std::runtime_error("no copies"); }
  };
  auto const top = with_cancel(context::background());
  throws const source;
  EXPECT_THROW(static_cast<void>(with_value(top.ctx, "it", source)), std::runtime_error);
  EXPECT_EQ(top.ctx.node().get()->references.load(detail::relaxed), 2U) << "ctx and cancel";
}

TEST(context_values, one_allocation_each) {
  if (!allocations_are_seen) GTEST_SKIP() << "the sanitizer sees to malloc";
  context const root = context::background();
  auto const allocations_of = [](auto make) {
    std::uint64_t const before = allocations_made();
    [[maybe_unused]] auto const made = make();
    return allocations_made() - before;
  };
  EXPECT_EQ(allocations_of([&] { return with_value(root, 1, 2); }), 1U);
  EXPECT_EQ(allocations_of([&] { return with_cancel(root); }), 1U);
  auto const one = with_cancel(root);
  static_cast<void>(context_category());  // made when it is first asked for
  EXPECT_EQ(allocations_of([&] {
              one.cancel();
              return one.ctx.err();
            }),
            0U);
}

}  // namespace
}  // namespace thrum::test
