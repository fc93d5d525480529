// Storms of selects: many goroutines use few channels at once and pass tokens round. No token is lost or doubled, and
// no goroutine sleeps through the end.
#include "base/atomic.h"
#include "base/random.h"
#include "support/channels.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/seed.h"
#include <thrum/chan.h>
#include <thrum/go.h>
#include <thrum/select.h>
#include <thrum/wait_group.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

class select_storm : public at_every_width {};
THRUM_AT_EVERY_WIDTH(select_storm);

template <class T>
T token(int number);
template <>
int token<int>(int number) {
  return number;
}
template <>
std::string token<std::string>(int number) {
  return "token number " + std::to_string(number);
}

// Each goroutine begins with one token. It passes on what it has, and takes what it can get, until `stop` is closed.
template <class T>
void pass_tokens_round(int procs, std::uint64_t seed) {
  constexpr std::size_t goroutines = 32;
  std::int64_t const wanted = scaled(100'000, 3000);
  run_at(procs, [&] {
    std::vector<chan<T>> const channels{chan<T>(0), chan<T>(0), chan<T>(1), chan<T>(3)};
    chan<bool> const stop;
    chan<bool> const enough;
    rt::atomic<std::int64_t> passed{0};
    std::vector<std::vector<T>> held(goroutines);
    wait_group all;
    for (std::size_t g = 0; g < goroutines; ++g) {
      held[g].push_back(token<T>(static_cast<int>(g)));
      all.go([&, g, random = nth_random(seed, g)]() mutable {
        auto& mine = held[g];
        bool over = false;
        while (!over) {
          auto const& a = channels[random.below(4)];
          auto const& b = channels[random.below(4)];
          auto const& c = channels[random.below(4)];
          auto const take = [&](std::optional<T> value) { mine.push_back(*value); };
          auto const gave = [&] { mine.pop_back(); };
          auto const end = [&](std::optional<bool>) { over = true; };
          if (mine.empty()) {
            select(on_recv(a, take), on_recv(stop, end), on_recv(b, take), on_recv(c, take));
          } else if (random.below(4) == 0) {
            select(on_send(a, mine.back(), gave), on_recv(b, take), on_recv(stop, end), otherwise());
          } else {
            select(on_send(a, mine.back(), gave), on_recv(b, take), on_recv(stop, end), on_send(c, mine.back(), gave));
          }
          if (passed.fetch_add(1, rt::relaxed) + 1 == wanted) enough.close();
        }
      });
    }
    (void)enough.recv();
    stop.close();
    all.wait();
    std::vector<T> found;
    for (auto const& mine : held) found.insert(found.end(), mine.begin(), mine.end());
    for (auto const& c : channels) {
      while (auto const left = c.try_recv()) found.push_back(*left.value);
      EXPECT_EQ(waiting_on(c), waiters());
    }
    EXPECT_EQ(waiting_on(stop), waiters());
    std::vector<T> expected;
    for (std::size_t g = 0; g < goroutines; ++g) expected.push_back(token<T>(static_cast<int>(g)));
    std::sort(found.begin(), found.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(found, expected);
  });
}

TEST_P(select_storm, S26_tokens_go_round_and_none_is_lost) { pass_tokens_round<int>(procs(), test_seed()); }

TEST_P(select_storm, S26_so_do_tokens_in_boxes) { pass_tokens_round<std::string>(procs(), test_seed()); }

// Every request carries the channel of its answer: two selects meet, channels are made and destroyed all the time.
TEST_P(select_storm, S26_requests_and_answers) {
  std::int64_t const each = scaled(2000, 50);
  run([&] {
    struct request {
      int number;
      chan<int> answer;
    };
    constexpr int clients = 16;
    chan<request> const requests;
    chan<bool> const stop;
    wait_group servers;
    for (int i = 0; i < 4; ++i) {
      servers.go([=] {
        bool over = false;
        while (!over) {
          select(on_recv(stop, [&](std::optional<bool>) { over = true; }),
                 on_recv(requests, [&](std::optional<request> asked) {
                   select(on_send(asked->answer, asked->number + 1), on_recv(stop));
                 }));
        }
      });
    }
    wait_group all;
    for (int c = 0; c < clients; ++c) {
      all.go([=] {
        for (std::int64_t i = 0; i < each; ++i) {
          chan<int> const answer(static_cast<std::size_t>(i % 2));
          int const number = static_cast<int>(i);
          select(on_send(requests, request{number, answer}), on_recv(answer));
          int got = 0;
          select(on_recv(answer, [&](std::optional<int> value) { got = *value; }), on_recv(chan<int>(nullptr)));
          ASSERT_EQ(got, number + 1);
        }
      });
    }
    all.wait();
    stop.close();
    servers.wait();
  });
}

// Closing races with everything else: each waits in three channels, which are closed one by one.
TEST_P(select_storm, S26_closing_wakes_each_select_once) {
  std::int64_t const rounds = scaled(1000, 30);
  run([&] {
    for (std::int64_t round = 0; round < rounds; ++round) {
      constexpr int crowd = 16;
      chan<int> const a;
      chan<int> const b(1);
      chan<int> const c;
      rt::atomic<int> woken{0};
      rt::atomic<int> refused{0};
      wait_group all;
      for (int i = 0; i < crowd; ++i) {
        all.go([&, i] {
          try {
            if (i % 2 == 0) {
              select(on_recv(a), on_recv(c), on_recv(b));
            } else {
              select(on_send(c, 1), on_recv(a), on_recv(b));
            }
            woken.fetch_add(1, rt::relaxed);
          } catch (channel_closed const&) {
            refused.fetch_add(1, rt::relaxed);
          }
        });
      }
      wait_group closers;
      closers.go([=] { a.close(); });
      closers.go([=] { b.close(); });
      closers.go([=] { c.close(); });
      closers.wait();
      all.wait();
      ASSERT_EQ(woken.load(rt::relaxed) + refused.load(rt::relaxed), crowd);
    }
  });
}

}  // namespace
}  // namespace thrum::test
