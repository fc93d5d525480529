// What the compiler must allow and refuse (CH-14), nil, and channels as ranges.
#include "support/run_at.h"
#include <thrum/chan.h>
#include <thrum/go.h>
#include <thrum/select.h>

#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

// clang before 16 checks the constraints of members when their class is instantiated, where an element may be
// incomplete. It also does not accept the views of libstdc++ 12.
#if defined(__clang__) && __clang_major__ < 16
#define THRUM_CHECKS_CONSTRAINTS_LATE 0
#else
#define THRUM_CHECKS_CONSTRAINTS_LATE 1
#endif

namespace thrum::test {
namespace {

using both = chan<int>;
using sender = chan<int>::sender;
using receiver = chan<int>::receiver;

// CH-14: a channel becomes either view by itself, and neither becomes anything else.
static_assert(std::convertible_to<both, sender> && std::convertible_to<both, receiver>);
static_assert(!std::constructible_from<both, sender> && !std::constructible_from<both, receiver>);
static_assert(!std::constructible_from<sender, receiver> && !std::constructible_from<receiver, sender>);
static_assert(!std::assignable_from<both&, sender> && !std::assignable_from<both&, receiver>);
static_assert(!std::assignable_from<sender&, receiver> && !std::assignable_from<receiver&, sender>);
static_assert(!std::constructible_from<chan<long>, both> && !std::constructible_from<chan<long>::sender, both>);

template <class C>
concept can_send = requires(C const& c) {
  c.send(1);
};
template <class C>
concept can_try_send = requires(C const& c) {
  c.try_send(1);
};
template <class C>
concept can_close = requires(C const& c) {
  c.close();
};
template <class C>
concept can_recv = requires(C const& c) {
  c.recv();
};
template <class C>
concept can_try_recv = requires(C const& c) {
  c.try_recv();
};
template <class C>
concept can_be_sent_to_by_select = requires(C const& c) {
  on_send(c, 1);
};
template <class C>
concept can_be_received_from_by_select = requires(C const& c) {
  on_recv(c);
};
template <class C>
concept can_iterate = requires(C const& c) {
  c.begin() == c.end();
};

template <class C>
inline constexpr bool sends = can_send<C>&& can_try_send<C>&& can_close<C>&& can_be_sent_to_by_select<C>;
template <class C>
inline constexpr bool sends_somehow = can_send<C> || can_try_send<C> || can_close<C> || can_be_sent_to_by_select<C>;
template <class C>
inline constexpr bool receives = can_recv<C>&& can_try_recv<C>&& can_iterate<C>&& can_be_received_from_by_select<C>;
template <class C>
inline constexpr bool receives_somehow =
    can_recv<C> || can_try_recv<C> || can_iterate<C> || can_be_received_from_by_select<C>;

static_assert(sends<both> && receives<both>);
static_assert(sends<sender> && !receives_somehow<sender>);
static_assert(receives<receiver> && !sends_somehow<receiver>);

// A handle is as cheap to pass on as a shared_ptr, and chan(0) is a capacity.
static_assert(std::is_nothrow_copy_constructible_v<both> && std::is_nothrow_move_constructible_v<both>);
static_assert(std::is_nothrow_move_assignable_v<both> && std::is_nothrow_destructible_v<both>);
static_assert(sizeof(both) == sizeof(void*) && sizeof(sender) == sizeof(void*));
static_assert(std::constructible_from<both, int> && std::constructible_from<both, std::size_t>);
static_assert(!std::convertible_to<int, both> && !std::convertible_to<std::size_t, both>);
static_assert(std::convertible_to<std::nullptr_t, both> && !std::constructible_from<both, void*>);

// Ranges.
static_assert(std::ranges::input_range<chan<int>> && std::ranges::input_range<chan<int> const>);
static_assert(std::ranges::input_range<chan<std::string>::receiver>);
static_assert(std::ranges::input_range<chan<std::unique_ptr<int>>>);
static_assert(!std::ranges::forward_range<chan<int>> && !std::ranges::range<chan<int>::sender>);
static_assert(std::same_as<std::ranges::range_value_t<chan<std::string>>, std::string>);

// An element that holds a channel of elements of its own type, as in Go, and a channel as a member that no code uses.
#if THRUM_CHECKS_CONSTRAINTS_LATE
struct request {
  int number;
  chan<request> answer_to;
};
struct with_member {
  int number;
  chan<int> c;
};
#endif

TEST(channel_views, CH14_nil_and_capacity_zero_are_not_the_same) {
  chan<int> const none(nullptr);
  chan<int> const also_none = nullptr;
  chan<int> const zero(0);
  chan<int> const some(3);
  EXPECT_FALSE(none);
  EXPECT_FALSE(also_none);
  EXPECT_TRUE(zero);
  EXPECT_TRUE(some);
  EXPECT_EQ(some.capacity(), 3U);
  EXPECT_EQ(none, also_none);
  EXPECT_NE(zero, none);
  EXPECT_NE(zero, chan<int>(0)) << "two channels";
  chan<int> const copy = some;
  EXPECT_EQ(copy, some);
  chan<int> gone = some;
  chan<int> const taken = std::move(gone);
  EXPECT_EQ(taken, some);
  gone = taken;
  EXPECT_EQ(gone, some);
  gone = nullptr;
  EXPECT_FALSE(gone);
}

TEST(channel_views, CH14_views_are_the_same_channel) {
  run_at(1, [] {
    chan<int> const c(2);
    chan<int>::sender const in = c;
    chan<int>::receiver const out = c;
    in.send(1);
    EXPECT_TRUE(in.try_send(2));
    EXPECT_EQ(in.size(), 2U);
    EXPECT_EQ(out.capacity(), 2U);
    EXPECT_EQ(out.recv(), 1);
    EXPECT_EQ(select(on_recv(out)), 0U);
    EXPECT_EQ(select(on_send(in, 3)), 0U);
    in.close();
    std::vector<int> rest;
    for (int const value : out) rest.push_back(value);
    EXPECT_EQ(rest, std::vector<int>{3});
  });
}

#if THRUM_CHECKS_CONSTRAINTS_LATE
TEST(channel_views, an_element_may_hold_a_channel_of_its_own_kind) {
  run_at(1, [] {
    with_member const made{1, {}};
    EXPECT_TRUE(made.c);
    chan<request> const c;
    go([=] {
      auto const asked = c.recv();
      asked->answer_to.send({asked->number + 1, chan<request>(nullptr)});
    });
    chan<request> const answers;
    c.send({41, answers});
    EXPECT_EQ(answers.recv()->number, 42);
  });
}
#endif

class ranges : public at_every_width {};
THRUM_AT_EVERY_WIDTH(ranges);

TEST_P(ranges, iteration_ends_when_the_channel_is_closed_and_drained) {
  run([] {
    chan<int> const c(4);
    go([=] {
      for (int i = 0; i < 100; ++i) c.send(i);
      c.close();
    });
    int next = 0;
    for (int const value : c) EXPECT_EQ(value, next++);
    EXPECT_EQ(next, 100);
    for (int const value : c) ADD_FAILURE() << value;
  });
}

TEST_P(ranges, elements_that_only_move_and_pipelines_of_views) {
  run([] {
    chan<std::unique_ptr<int>> const c;
    go([=] {
      for (int i = 0; i < 10; ++i) c.send(std::make_unique<int>(i));
      c.close();
    });
    int sum = 0;
    for (auto& value : c) sum += *value;
    EXPECT_EQ(sum, 45);

#if THRUM_CHECKS_CONSTRAINTS_LATE
    chan<int> const numbers;
    go([=] {
      for (int i = 0; i < 10; ++i) numbers.send(i);
      numbers.close();
    });
    int odd_squares = 0;
    for (int const value : numbers | std::views::filter([](int v) { return v % 2 == 1; }) |
                               std::views::transform([](int v) { return v * v; })) {
      odd_squares += value;
    }
    EXPECT_EQ(odd_squares, 1 + 9 + 25 + 49 + 81);
#endif
  });
}

// What a consumer still holds cannot keep its producer waiting for ever.
TEST_P(ranges, an_element_is_gone_before_the_next_is_waited_for) {
  run([] {
    chan<std::shared_ptr<int>> const c;
    go([=] {
      for (int i = 0; i < 5; ++i) {
        auto item = std::make_shared<int>(i);
        std::weak_ptr<int> const watched = item;
        c.send(std::move(item));
        while (!watched.expired()) yield();
      }
      c.close();
    });
    int count = 0;
    for (auto const& item : c) EXPECT_EQ(*item, count++);
    EXPECT_EQ(count, 5);
  });
}

struct never_assigned {
  int const value;
};

TEST_P(ranges, elements_need_not_be_assignable) {
  run([] {
    chan<never_assigned> const c(3);
    for (int i = 0; i < 3; ++i) c.send({i});
    c.close();
    int count = 0;
    for (auto const& item : c) EXPECT_EQ(item.value, count++);
    EXPECT_EQ(count, 3);
  });
}

}  // namespace
}  // namespace thrum::test
