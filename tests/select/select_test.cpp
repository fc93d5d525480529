// What select promises: one instant (SE-01), no talking to itself (SE-02), fairness (SE-04), sound queues (SE-05), one
// winner (SE-07), no two that wait for each other (SE-08).
#include "base/atomic.h"
#include "support/channels.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include <thrum/chan.h>
#include <thrum/go.h>
#include <thrum/select.h>
#include <thrum/wait_group.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

class selects : public at_every_width {};
THRUM_AT_EVERY_WIDTH(selects);

// The value moves from one channel to the other while the select looks: it is always in one of them.
TEST_P(selects, SE01_one_of_two_is_always_ready_by_value) {
  run([] {
    std::int64_t const trials = scaled(100'000, 2000);
    chan<int> const done(1);
    for (std::int64_t i = 0; i < trials; ++i) {
      chan<int> const a(1);
      chan<int> const b(1);
      a.send(1);
      go([=] { done.send(static_cast<int>(select(on_recv(a), on_recv(b), otherwise()))); });
      b.send(1);
      select(on_recv(a), otherwise());
      ASSERT_NE(done.recv(), 2) << "trial " << i;
    }
  });
}

TEST_P(selects, SE01_one_of_two_is_always_ready_by_close) {
  run([] {
    std::int64_t const trials = scaled(100'000, 2000);
    chan<int> const done(1);
    for (std::int64_t i = 0; i < trials; ++i) {
      chan<int> const a(1);
      chan<int> const b;
      a.send(1);
      go([=] { done.send(static_cast<int>(select(on_recv(a), on_recv(b), otherwise()))); });
      b.close();
      select(on_recv(a), otherwise());
      ASSERT_NE(done.recv(), 2) << "trial " << i;
    }
  });
}

TEST_P(selects, SE02_two_that_offer_both_sides_of_one_channel) {
  run([] {
    std::int64_t const rounds = scaled(1000, 100);
    for (std::size_t const capacity : {0, 10}) {
      chan<int> const c(capacity);
      wait_group both;
      rt::atomic<int> left{2};
      rt::atomic<int> heard_themselves{0};
      for (int me = 0; me < 2; ++me) {
        both.go([&, me] {
          auto const hear = [&](std::optional<int> value) {
            if (capacity == 0 && value == me) heard_themselves.fetch_add(1, rt::relaxed);
          };
          for (std::int64_t i = 0; i < rounds; ++i) {
            if (me == 0 || i % 2 == 0) {
              select(on_send(c, me), on_recv(c, hear));
            } else {
              select(on_recv(c, hear), on_send(c, me));
            }
          }
          // The one that is done first helps the other to get on.
          left.fetch_sub(1, rt::relaxed);
          while (left.load(rt::relaxed) != 0) {
            select(on_send(c, me), on_recv(c, hear), otherwise());
            yield();
          }
        });
      }
      both.wait();
      EXPECT_EQ(heard_themselves.load(rt::relaxed), 0);
      EXPECT_EQ(waiting_on(c), waiters()) << "capacity " << capacity;
    }
  });
}

TEST_P(selects, SE04_each_ready_case_gets_its_share) {
  run([] {
    constexpr int trials = 10'000;
    chan<int> const ready_a(trials + 1);
    chan<int> const ready_b(trials + 1);
    for (int i = 0; i <= trials; ++i) {
      ready_a.send(0);
      ready_b.send(0);
    }
    chan<int> const idle_a;
    chan<int> const idle_b;
    std::array<int, 4> chosen{};
    for (int i = 0; i < trials; ++i) {
      ++chosen[select(on_recv(idle_a), on_recv(ready_a), on_recv(idle_b), on_recv(ready_b))];
    }
    EXPECT_EQ(chosen[0] + chosen[2], 0);
    // A fair coin leaves 4,500..5,500 once in 10^23 runs.
    EXPECT_GT(chosen[1], 4500);
    EXPECT_LT(chosen[1], 5500);
  });
}

TEST_P(selects, SE04_each_of_many_ready_cases_wherever_it_stands) {
  run([] {
    constexpr std::size_t cases = 7;
    constexpr int trials = 7000;
    std::vector<chan<int>> all(cases);
    for (auto const& c : all) c.close();
    std::array<int, cases> chosen{};
    for (int i = 0; i < trials; ++i) {
      ++chosen[select(on_recv(all[0]), on_recv(all[1]), on_recv(all[2]), on_recv(all[3]), on_recv(all[4]),
                      on_recv(all[5]), on_recv(all[6]))];
    }
    for (int const count : chosen) {
      EXPECT_GT(count, 800);  // 1000 expected: seven standard deviations
      EXPECT_LT(count, 1200);
    }
  });
}

TEST_P(selects, SE04_a_random_bit_by_sending) {
  run([] {
    chan<int> const c;
    go([=] {
      for (int i = 0; i < 100; ++i) select(on_send(c, 0), on_send(c, 1));
      c.close();
    });
    int ones = 0;
    int all = 0;
    for (int const bit : c) {
      ones += bit;
      ++all;
    }
    EXPECT_EQ(all, 100);
    EXPECT_GT(ones, 10);
    EXPECT_LT(ones, 90);
  });
}

TEST_P(selects, SE04_also_if_it_waits_for_a_receiver) {
  run([] {
    chan<int> const c;
    go([=] {
      for (int i = 0; i < 100; ++i) select(on_send(c, 0), on_send(c, 1));
    });
    int ones = 0;
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(wait_until_senders(c, 2));
      ones += *c.recv();
    }
    EXPECT_GT(ones, 10);
    EXPECT_LT(ones, 90);
  });
}

// Go's TestSelectDuplicateChannel: A stands twice in c's queue, B behind it; A is woken elsewhere, then B by c.
TEST_P(selects, SE05_a_channel_that_is_listed_twice) {
  run([] {
    chan<int> const c;
    chan<int> const d;
    chan<int> const e;
    suspect const a([=] { select(on_recv(c), on_recv(d), on_recv(c), on_recv(d)); });
    ASSERT_TRUE(wait_until_receivers(c, 2));
    suspect const b([=] {
      EXPECT_EQ(c.recv(), 8);
      e.send(9);
    });
    ASSERT_TRUE(wait_until_receivers(c, 3));
    d.send(7);
    ASSERT_TRUE(wait_until_receivers(c, 1)) << "A has left c's queue, B has not";
    EXPECT_EQ(waiting_on(d), waiters());
    c.send(8);
    EXPECT_EQ(e.recv(), 9);
    EXPECT_EQ(waiting_on(c), waiters());
  });
}

// Go's select6.go: the select is the last in its queue, the first, and in the middle.
TEST_P(selects, SE05_one_that_leaves_its_queue_from_any_place) {
  run([] {
    for (int place = 0; place < 3; ++place) {
      chan<int> const c;
      chan<int> const other;
      wait_group all;
      std::array<int, 2> got{};
      std::size_t parked = 0;
      for (int i = 0, next = 0; i < 3; ++i) {
        if (i == place) {
          all.go([=] { EXPECT_EQ(select(on_recv(c), on_recv(other)), 1U); });
        } else {
          all.go([&, next] { got[static_cast<std::size_t>(next)] = *c.recv(); });
          ++next;
        }
        ASSERT_TRUE(wait_until_receivers(c, ++parked));
      }
      other.send(1);
      ASSERT_TRUE(wait_until_receivers(c, 2));
      c.send(10);
      c.send(20);
      all.wait();
      EXPECT_EQ(got, (std::array<int, 2>{10, 20})) << "place " << place;
      EXPECT_EQ(waiting_on(c), waiters());
    }
  });
}

TEST_P(selects, SE07_of_64_senders_exactly_one_wins) {
  run([] {
    constexpr std::size_t width = 64;
    std::int64_t const rounds = scaled(1000, 30);
    for (std::int64_t round = 0; round < rounds; ++round) {
      std::vector<chan<std::size_t>> const channels_of_this_round(width);
      rt::atomic<int> sent{0};
      wait_group fire;
      fire.add(1);
      wait_group senders;
      for (std::size_t i = 0; i < width; ++i) {
        senders.go([&, i] {
          fire.wait();
          channels_of_this_round[i].send(i);
          sent.fetch_add(1, rt::relaxed);
        });
      }
      std::size_t got = width;
      auto chooser = spawn([&] {
        std::vector<select_case> cases;
        for (auto const& c : channels_of_this_round) {
          cases.emplace_back(on_recv(c, [&](std::optional<std::size_t> value) { got = *value; }));
        }
        return select(cases);
      });
      ASSERT_TRUE(wait_until_receivers(channels_of_this_round.back(), 1));
      fire.done();
      std::size_t const chosen = chooser.join();
      EXPECT_EQ(got, chosen);
      // All others wait: each in its own queue.
      ASSERT_TRUE(wait_until([&] {
        std::size_t waiting = 0;
        for (auto const& c : channels_of_this_round) waiting += waiting_on(c).senders;
        return waiting == width - 1 && sent.load(rt::relaxed) == 1;
      }));
      for (std::size_t i = 0; i < width; ++i) {
        if (i == chosen) {
          EXPECT_EQ(waiting_on(channels_of_this_round[i]), waiters());
        } else {
          EXPECT_EQ(channels_of_this_round[i].recv(), i);
        }
      }
      senders.wait();
      EXPECT_EQ(sent.load(rt::relaxed), static_cast<int>(width));
    }
  });
}

TEST_P(selects, SE08_channels_in_opposite_order) {
  run([] {
    std::int64_t const rounds = scaled(100'000, 2000);
    chan<int> const a(1);
    chan<int> const b(1);
    wait_group both;
    both.go([=] {
      for (std::int64_t i = 0; i < rounds; ++i) select(on_send(a, 1), on_recv(b));
    });
    both.go([=] {
      for (std::int64_t i = 0; i < rounds; ++i) select(on_send(b, 1), on_recv(a));
    });
    wait_group helpers;  // keep them going when one of them is done
    rt::atomic<bool> over{false};
    helpers.go([&] {
      while (!over.load(rt::relaxed)) {
        select(on_recv(a), otherwise());
        select(on_send(b, 1), otherwise());
        select(on_recv(b), otherwise());
        select(on_send(a, 1), otherwise());
        yield();
      }
    });
    both.wait();
    over.store(true, rt::relaxed);
    helpers.wait();
    EXPECT_EQ(waiting_on(a), waiters());
    EXPECT_EQ(waiting_on(b), waiters());
  });
}

}  // namespace
}  // namespace thrum::test
