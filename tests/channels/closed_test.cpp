// Closed channels: every form of every operation agrees (CH-08), and misuse throws one common type (DL-13).
#include "support/run_at.h"
#include <thrum/chan.h>
#include <thrum/go.h>
#include <thrum/select.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

// The four operations in one form.
template <class T>
struct form {
  char const* name;
  std::function<void(chan<T> const&, T)> send;
  std::function<bool(chan<T> const&, T)> try_send;
  std::function<std::optional<T>(chan<T> const&)> recv;
  std::function<try_result<T>(chan<T> const&)> try_recv;
};

template <class T>
form<T> plain_form() {
  return {"plain", [](chan<T> const& c, T v) { c.send(v); }, [](chan<T> const& c, T v) { return c.try_send(v); },
          [](chan<T> const& c) { return c.recv(); }, [](chan<T> const& c) { return c.try_recv(); }};
}

// A select whose other cases are never ready: channels that no goroutine uses, and nil channels.
template <class T>
form<T> select_form() {
  return {"one case", [](chan<T> const& c, T v) { select(on_send(c, v)); },
          [](chan<T> const& c, T v) { return select(on_send(c, v), otherwise()) == 0; },
          [](chan<T> const& c) {
            std::optional<T> got;
            select(on_recv(c, [&](std::optional<T> value) { got = value; }));
            return got;
          },
          [](chan<T> const& c) {
            try_result<T> got;
            select(otherwise(), on_recv(c, [&](std::optional<T> value) { got = {value, !value.has_value()}; }));
            return got;
          }};
}

template <class T>
form<T> crowded_form() {
  return {"many cases",
          [](chan<T> const& c, T v) {
            chan<T> const idle;
            EXPECT_EQ(select(on_recv(idle), on_send(c, v), on_recv(chan<int>(nullptr)), on_send(idle, v)), 1U);
          },
          [](chan<T> const& c, T v) {
            chan<T> const idle;
            return select(on_recv(idle), on_send(c, v), on_send(idle, v), otherwise()) == 1;
          },
          [](chan<T> const& c) {
            chan<T> const idle;
            std::optional<T> got;
            select(on_recv(idle), on_recv(c, [&](std::optional<T> value) { got = value; }), on_recv(idle),
                   on_send(chan<T>(nullptr), T()));
            return got;
          },
          [](chan<T> const& c) {
            chan<T> const idle;
            try_result<T> got;
            select(on_recv(idle),
                   on_recv(c,
                           [&](std::optional<T> value) {
                             got = {value, !value.has_value()};
                           }),
                   otherwise(), on_recv(idle));
            return got;
          }};
}

// A select whose cases are put together at run time.
template <class T>
form<T> span_form() {
  return {"span",
          [](chan<T> const& c, T v) {
            std::vector<select_case> cases;
            cases.emplace_back(on_recv(chan<T>()));
            cases.emplace_back(on_send(c, v));
            EXPECT_EQ(select(cases), 1U);
          },
          [](chan<T> const& c, T v) {
            std::vector<select_case> cases;
            cases.emplace_back(otherwise());
            cases.emplace_back(on_send(c, v));
            return select(cases) == 1;
          },
          [](chan<T> const& c) {
            std::optional<T> got;
            std::vector<select_case> cases;
            cases.emplace_back(on_recv(c, [&](std::optional<T> value) { got = value; }));
            select(cases);
            return got;
          },
          [](chan<T> const& c) {
            try_result<T> got;
            std::vector<select_case> cases;
            cases.emplace_back(on_recv(c, [&](std::optional<T> value) { got = {value, !value.has_value()}; }));
            cases.emplace_back(otherwise());
            select(cases);
            return got;
          }};
}

template <class T>
void check_closed(form<T> const& how, std::size_t capacity, T const& a, T const& b) {
  auto const where = std::string(how.name) + ", capacity " + std::to_string(capacity);
  chan<T> const c(capacity);
  std::size_t const held = capacity;
  if (capacity > 0) how.send(c, a);
  if (capacity > 1) {
    EXPECT_TRUE(how.try_send(c, b)) << where;
  }
  EXPECT_FALSE(how.try_send(c, a)) << where << ": full";
  c.close();
  EXPECT_THROW(how.send(c, a), channel_closed) << where;
  EXPECT_THROW((void)how.try_send(c, a), channel_closed) << where;
  EXPECT_EQ(c.size(), held) << where << ": what is refused is not stored";
  if (capacity > 0) {
    EXPECT_EQ(how.recv(c), a) << where;
  }
  if (capacity > 1) {
    EXPECT_EQ(how.try_recv(c).value, b) << where;
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(how.recv(c), std::nullopt) << where;
    auto const tried = how.try_recv(c);
    EXPECT_EQ(tried.value, std::nullopt) << where;
    EXPECT_TRUE(tried.closed) << where;
    EXPECT_THROW(how.send(c, a), channel_closed) << where;
    EXPECT_THROW((void)how.try_send(c, a), channel_closed) << where;
    EXPECT_EQ(c.size(), 0U) << where;
    EXPECT_THROW(c.close(), channel_closed) << where;
  }
  EXPECT_FALSE(how.try_recv(chan<T>(capacity)).closed) << where << ": empty and open is not closed";
}

class closed_channels : public at_every_width {};
THRUM_AT_EVERY_WIDTH(closed_channels);

TEST_P(closed_channels, CH08_all_forms_of_all_operations_agree) {
  run([] {
    for (std::size_t const capacity : {0, 1, 2}) {
      for (auto const& how : {plain_form<int>(), select_form<int>(), crowded_form<int>(), span_form<int>()}) {
        check_closed<int>(how, capacity, 11, 22);
      }
      for (auto const& how : {plain_form<std::string>(), select_form<std::string>(), crowded_form<std::string>(),
                              span_form<std::string>()}) {
        check_closed<std::string>(how, capacity, std::string(40, 'a'), std::string(40, 'b'));
      }
    }
  });
}

// A value that is refused stays with its owner.
TEST_P(closed_channels, CH08_a_refused_value_is_left_as_it_was) {
  run([] {
    chan<std::string> const c(1);
    std::string const text(40, 'x');
    std::string mine = text;
    ASSERT_TRUE(c.try_send("fills it"));
    EXPECT_FALSE(c.try_send(std::move(mine)));
    EXPECT_EQ(mine, text);
    EXPECT_FALSE(chan<std::string>(nullptr).try_send(std::move(mine)));
    EXPECT_EQ(mine, text);
    c.close();
    EXPECT_THROW((void)c.try_send(std::move(mine)), channel_closed);
    EXPECT_EQ(mine, text);
  });
}

TEST_P(closed_channels, DL13_misuse_throws_one_common_type) {
  static_assert(std::is_base_of_v<channel_error, channel_closed>);
  static_assert(std::is_base_of_v<std::logic_error, channel_error>);
  run([] {
    auto const what = [](auto misuse) -> std::string {
      try {
        misuse();
      } catch (channel_error const& error) {
        return error.what();
      }
      return "nothing thrown";
    };
    chan<int> const c(1);
    c.close();
    EXPECT_EQ(what([] { chan<int>(nullptr).close(); }), "thrum: close of the nil channel");
    EXPECT_EQ(what([&] { c.close(); }), "thrum: close of a closed channel");
    EXPECT_EQ(what([&] { c.send(1); }), "thrum: send on a closed channel");
    EXPECT_EQ(what([&] { (void)c.try_send(1); }), "thrum: send on a closed channel");
    EXPECT_EQ(what([&] { select(on_send(c, 1)); }), "thrum: send on a closed channel");
    EXPECT_NE(what([] {
                chan<int> const negative(static_cast<std::size_t>(-1));
              }).find("needs more memory than can be addressed"),
              std::string::npos);
  });
}

// After each exception the goroutine continues, the channel's lock is free, and no goroutine waits in the channel.
TEST_P(closed_channels, DL13_a_channel_that_threw_is_as_it_was) {
  run([] {
    chan<int> const c(2);
    c.send(1);
    c.close();
    for (int i = 0; i < 3; ++i) {
      EXPECT_THROW(c.send(2), channel_closed);
      EXPECT_THROW(c.close(), channel_closed);
    }
    auto reader = spawn([=] { return *c.recv(); });
    EXPECT_EQ(reader.join(), 1);
    EXPECT_EQ(c.recv(), std::nullopt);
  });
}

TEST(closed_channels, only_goroutines_can_wait) {
  chan<int> const c(1);
  EXPECT_THROW(c.send(1), std::logic_error);
  EXPECT_THROW((void)c.recv(), std::logic_error);
  EXPECT_THROW(select(on_recv(c)), std::logic_error);
  EXPECT_THROW(chan<int>(nullptr).send(1), std::logic_error);
  EXPECT_FALSE(c.try_recv()) << "a look needs no sender";
}

}  // namespace
}  // namespace thrum::test
