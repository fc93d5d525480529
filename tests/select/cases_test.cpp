// The cases of a select: what is evaluated and touched (SE-10), nil and empty (CH-10), and cases made at run time.
#include "support/channels.h"
#include "support/run_at.h"
#include <thrum/chan.h>
#include <thrum/go.h>
#include <thrum/select.h>
#include <thrum/wait_group.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

class select_cases : public at_every_width {};
THRUM_AT_EVERY_WIDTH(select_cases);

// --- SE-10 ---

TEST_P(select_cases, SE10_channels_and_values_are_evaluated_once) {
  run([] {
    int channels_named = 0;
    int values_named = 0;
    auto const channel_of = [&](chan<int> c) {
      ++channels_named;
      return c;
    };
    auto const value_of = [&](int v) {
      ++values_named;
      return v;
    };
    chan<int> const full(1);
    full.send(1);
    chan<int> const room(1);
    EXPECT_EQ(select(on_send(channel_of(full), value_of(2)), on_send(channel_of(room), value_of(3)),
                     on_recv(channel_of(chan<int>()))),
              1U);
    EXPECT_EQ(channels_named, 3);
    EXPECT_EQ(values_named, 2);
    EXPECT_EQ(room.recv(), 3);
  });
}

TEST_P(select_cases, SE10_only_the_chosen_case_is_called) {
  run([] {
    chan<int> const ready(1);
    chan<int> const idle;
    ready.send(5);
    std::vector<std::string> called;
    auto const note = [&](char const* name) { return [&called, name](auto&&...) { called.emplace_back(name); }; };
    EXPECT_EQ(select(on_recv(idle, note("idle")), on_recv(ready, note("ready")), on_send(idle, 1, note("send")),
                     otherwise(note("otherwise"))),
              1U);
    EXPECT_EQ(select(on_recv(idle, note("idle")), otherwise(note("otherwise")), on_recv(ready, note("ready"))), 1U);
    EXPECT_EQ(called, (std::vector<std::string>{"ready", "otherwise"}));
  });
}

// Nine pairings: the receiver waits, the sender waits, or both meet by select; and the value is used, dropped, or a
// default.
TEST_P(select_cases, SE10_values_may_be_dropped_in_every_pairing) {
  run([] {
    for (int sender_form = 0; sender_form < 3; ++sender_form) {
      for (int receiver_form = 0; receiver_form < 3; ++receiver_form) {
        chan<std::string> const c;
        chan<int> const idle;
        wait_group sender;
        sender.go([&] {
          switch (sender_form) {
            case 0: c.send("a value"); break;
            case 1: select(on_send(c, "a value")); break;
            default: select(on_recv(idle), on_send(c, "a value", [] {}));
          }
        });
        switch (receiver_form) {
          case 0: (void)c.recv(); break;
          case 1: select(on_recv(c)); break;
          default: select(on_recv(idle), on_recv(c, [](auto const&) {}));
        }
        sender.wait();
        EXPECT_EQ(waiting_on(c), waiters());
        EXPECT_EQ(waiting_on(idle), waiters());
      }
    }
  });
}

TEST_P(select_cases, SE10_functions_run_when_the_channels_are_free_again) {
  run([] {
    chan<int> const a(2);
    chan<int> const b(1);
    a.send(1);
    a.send(2);
    int inner = 0;
    select(on_recv(a, [&](std::optional<int>) {
      b.send(7);  // the same channels, and another select over them
      select(on_recv(a, [&](std::optional<int> value) { inner = *value; }), on_recv(chan<int>()));
    }));
    EXPECT_EQ(inner, 2);
    EXPECT_EQ(b.recv(), 7);
    EXPECT_THROW(select(otherwise([] { throw std::runtime_error("from a case"); })), std::runtime_error);
    a.send(3);
    EXPECT_THROW(select(on_recv(a, [](std::optional<int>) { throw std::runtime_error("from a case"); })),
                 std::runtime_error);
    EXPECT_EQ(a.size(), 0U) << "it was received";
  });
}

// --- CH-10 ---

TEST_P(select_cases, CH10_nil_waits_for_ever_and_is_never_chosen) {
  run([] {
    chan<int> const nil(nullptr);
    suspect const sends([=] { nil.send(1); });
    suspect const receives([=] { (void)nil.recv(); });
    suspect const iterates([=] {
      for (int const value : nil) ADD_FAILURE() << value;
    });
    suspect const selects_nil([=] { select(on_recv(nil), on_send(nil, 1)); });
    suspect const selects_nothing([] { select(); });
    suspect const selects_no_span([] { select(std::span<select_case>()); });
    chan<int> const alone;
    suspect const selects_itself([=] { select(on_send(alone, 1), on_recv(alone)); });
    for (auto const* each :
         {&sends, &receives, &iterates, &selects_nil, &selects_nothing, &selects_no_span, &selects_itself}) {
      EXPECT_TRUE(each->stays_parked());
    }
    EXPECT_FALSE(nil.try_send(1));
    EXPECT_FALSE(nil.try_recv());
    EXPECT_FALSE(nil.try_recv().closed);
    chan<int> const ready(1);
    for (int i = 0; i < 100; ++i) {
      ready.send(1);
      ASSERT_EQ(select(on_recv(nil), on_recv(ready), on_send(nil, 1)), 1U);
    }
    EXPECT_EQ(alone.recv(), 1) << "the one that met no receiver still offers";
  });
}

TEST_P(select_cases, CH10_with_otherwise_nothing_waits) {
  run([] {
    chan<int> const nil(nullptr);
    chan<int> const idle;
    EXPECT_EQ(select(otherwise()), 0U);
    EXPECT_EQ(select(on_recv(nil), otherwise()), 1U);
    EXPECT_EQ(select(otherwise(), on_send(nil, 1), on_recv(nil)), 0U);
    EXPECT_EQ(select(on_send(idle, 1), on_recv(idle), otherwise()), 2U) << "it does not meet itself";
    chan<int> const full(1);
    full.send(1);
    EXPECT_EQ(select(on_send(full, 1), otherwise()), 1U);
    EXPECT_EQ(waiting_on(idle), waiters());
  });
}

// --- a number of cases known only at run time ---

TEST_P(select_cases, a_span_of_cases_can_be_used_again) {
  run([] {
    std::vector<chan<int>> const channels(5);
    std::vector<int> got;
    std::vector<select_case> cases;
    for (auto const& c : channels) {
      cases.emplace_back(on_recv(c, [&](std::optional<int> value) { got.push_back(value.value_or(-1)); }));
    }
    wait_group sender;
    sender.go([&] {
      for (int round = 0; round < 50; ++round) channels[static_cast<std::size_t>(round) % 5].send(round);
      channels[3].close();
    });
    for (int round = 0; round < 50; ++round) ASSERT_EQ(select(cases), static_cast<std::size_t>(round) % 5);
    EXPECT_EQ(select(cases), 3U);
    sender.wait();
    ASSERT_EQ(got.size(), 51U);
    for (int round = 0; round < 50; ++round) EXPECT_EQ(got[static_cast<std::size_t>(round)], round);
    EXPECT_EQ(got.back(), -1);
  });
}

TEST_P(select_cases, a_sending_case_keeps_its_value_until_it_is_sent) {
  run([] {
    std::string const text(40, 'x');
    chan<std::string> const c(1);
    c.send("in the way");
    std::vector<select_case> cases;
    cases.emplace_back(on_send(c, text));
    cases.emplace_back(otherwise());
    EXPECT_EQ(select(cases), 1U);
    EXPECT_EQ(select(cases), 1U);
    EXPECT_EQ(c.recv(), "in the way");
    EXPECT_EQ(select(cases), 0U);
    EXPECT_EQ(c.recv(), text);
    EXPECT_THROW(select(cases), channel_error) << "there is nothing left to send";

    chan<std::unique_ptr<int>> const pointers(1);
    auto kept = on_send(pointers, std::make_unique<int>(3));
    EXPECT_EQ(select(std::move(kept)), 0U);
    EXPECT_EQ(**pointers.recv(), 3);
  });
}

TEST_P(select_cases, a_span_has_at_most_one_otherwise) {
  run([] {
    std::vector<select_case> cases;
    cases.emplace_back(otherwise());
    cases.emplace_back(otherwise());
    EXPECT_THROW(select(cases), channel_error);
  });
}

TEST_P(select_cases, a_span_holds_its_channels) {
  run([] {
    std::vector<select_case> cases;
    std::optional<int> got;
    {
      chan<int> const c(1);
      c.send(4);
      cases.emplace_back(on_recv(c, [&](std::optional<int> value) { got = value; }));
    }
    EXPECT_EQ(select(cases), 0U);
    EXPECT_EQ(got, 4);
  });
}

// Thousands of channels in any order, some of them many times: locked and unlocked without a word.
TEST_P(select_cases, a_select_of_thousands) {
  run([] {
    std::vector<chan<int>> const channels(3000);
    std::mt19937 random(1);
    std::vector<select_case> cases;
    for (auto const& c : channels) {
      cases.emplace_back(on_recv(c));
      cases.emplace_back(on_recv(channels[random() % channels.size()]));
    }
    for (int round = 0; round < 5; ++round) {
      std::size_t const sent_to = round == 0 ? 1234 : random() % channels.size();
      wait_group sender;
      sender.go([&] {
        channels[sent_to].send(1);
        channels[1234].send(1);
      });
      select(cases);
      select(cases);
      sender.wait();
    }
    for (auto const& c : channels) ASSERT_EQ(waiting_on(c), waiters());
    std::vector<select_case> too_many;
    for (int i = 0; i < 65'536; ++i) too_many.emplace_back(otherwise());
    EXPECT_THROW(select(too_many), channel_error);
  });
}

}  // namespace
}  // namespace thrum::test
