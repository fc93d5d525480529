// S26: a goroutine may wait in many queues, and leaves none of itself behind. S33: sharing by communicating.
#include "base/atomic.h"
#include "stack/stack.h"
#include "support/channels.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using test::run_at;
using test::wait_until;
using test::wait_until_receivers;
using test::waiters;
using test::waiting_on;

class waiting_in_many_queues : public test::at_every_width {};
THRUM_AT_EVERY_WIDTH(waiting_in_many_queues);

// The select is ended by each of its n channels in turn, by sending, receiving and closing. Afterwards no waiter is in
// any queue.
TEST_P(waiting_in_many_queues, S26_a_select_over_n_channels_leaves_no_stale_waiter) {
  run([] {
    for (std::size_t const n : {1U, 2U, 3U, 8U, 64U}) {
      for (std::size_t by = 0; by < n; by += (n > 8 ? 9 : 1)) {
        for (int how = 0; how < 3; ++how) {
          std::vector<chan<int>> const channels(n);
          auto chooser = spawn([&] {
            std::vector<select_case> cases;
            for (auto const& c : channels) {
              if (how == 1) {
                cases.emplace_back(on_send(c, 1));
              } else {
                cases.emplace_back(on_recv(c));
              }
            }
            return select(cases);
          });
          ASSERT_TRUE(wait_until([&] {
            return waiting_on(channels.back()) == (how == 1 ? waiters{0, 1} : waiters{1, 0});
          }));
          for (auto const& c : channels) EXPECT_EQ(waiting_on(c), (how == 1 ? waiters{0, 1} : waiters{1, 0}));
          switch (how) {
            case 0: channels[by].send(1); break;
            case 1: EXPECT_EQ(channels[by].recv(), 1); break;
            default: channels[by].close();
          }
          EXPECT_EQ(chooser.join(), by);
          for (auto const& c : channels) EXPECT_EQ(waiting_on(c), waiters());
        }
      }
    }
  });
}

// A crowd of selects in the same queues: one message wakes exactly one of them, the others stay where they are.
TEST_P(waiting_in_many_queues, S26_a_message_wakes_one_of_many) {
  run([] {
    constexpr std::size_t crowd = 20;
    chan<int> const a;
    chan<int> const b;
    chan<int> const c;
    chan<std::size_t> const answers(crowd);
    wait_group all;
    for (std::size_t i = 0; i < crowd; ++i) {
      all.go([=] { answers.send(select(on_recv(a), on_recv(b), on_recv(c))); });
    }
    ASSERT_TRUE(wait_until_receivers(c, crowd));
    for (std::size_t i = 0; i < crowd; ++i) {
      std::size_t const which = i % 3;
      (which == 0 ? a : which == 1 ? b : c).send(1);
      EXPECT_EQ(answers.recv(), which);
      ASSERT_TRUE(wait_until([&] {
        waiters const left{crowd - i - 1, 0};
        return waiting_on(a) == left && waiting_on(b) == left && waiting_on(c) == left;
      }));
    }
    all.wait();
  });
}

// Waiting in a channel or a select takes nothing from any pool: the places are on the goroutines' own stacks.
TEST(waiting_in_many_queues, S26_waiters_of_channels_are_on_their_own_stacks) {
  run_at(1, [] {
    chan<int> const a;
    chan<int> const b;
    rt::G* g = nullptr;
    go([&] {
      g = &test::this_g();
      select(on_recv(a), on_recv(b));
    });
    thrum::yield();
    ASSERT_NE(g, nullptr);
    auto const is_on_its_stack = [&](chan<int> const& c) {
      auto const* const place = reinterpret_cast<char const*>(c.channel_handle::core()->receivers.first());
      return place >= g->on->low && place < g->on->top;
    };
    EXPECT_TRUE(is_on_its_stack(a));
    EXPECT_TRUE(is_on_its_stack(b));
    b.send(1);
  });
}

class communicating : public test::at_every_width {};
THRUM_AT_EVERY_WIDTH(communicating);

// Stages that share nothing: numbers, squares by several workers, their sum. No lock, no atomic.
TEST_P(communicating, S33_a_pipeline_with_fan_out_and_fan_in) {
  run([] {
    std::int64_t const count = test::scaled(20'000, 1000);
    chan<std::int64_t> const numbers(16);
    chan<std::int64_t> const squares;
    chan<bool> const worker_done;
    constexpr int workers = 5;
    go([=] {
      for (std::int64_t i = 1; i <= count; ++i) numbers.send(i);
      numbers.close();
    });
    for (int w = 0; w < workers; ++w) {
      go([=] {
        for (std::int64_t const n : numbers) squares.send(n * n);
        worker_done.send(true);
      });
    }
    go([=] {
      for (int w = 0; w < workers; ++w) (void)worker_done.recv();
      squares.close();
    });
    std::int64_t sum = 0;
    for (std::int64_t const s : squares) sum += s;
    EXPECT_EQ(sum, count * (count + 1) * (2 * count + 1) / 6);
  });
}

// What was written before a send is visible after the receive. What was read before a receive that frees a place in the
// buffer was read before the send that uses the place (Go's memory model). ThreadSanitizer checks both.
TEST_P(communicating, S33_plain_memory_travels_with_the_messages) {
  run([] {
    std::int64_t const rounds = test::scaled(20'000, 1000);
    for (std::size_t const capacity : {0U, 1U}) {
      chan<int> const there(capacity);
      chan<int> const back(capacity);
      std::int64_t shared = 0;  // the goroutine that received last owns it
      wait_group other;
      other.go([&] {
        for (int const turn : there) {
          ++shared;
          back.send(turn);
        }
      });
      for (std::int64_t i = 0; i < rounds; ++i) {
        ++shared;
        if (i % 2 == 0) {
          there.send(1);
          (void)back.recv();
        } else {
          select(on_recv(back), on_send(there, 1));
          select(on_recv(back), on_recv(chan<int>(nullptr)));
        }
      }
      there.close();
      other.wait();
      EXPECT_EQ(shared, 2 * rounds);
    }
  });
}

// A buffered channel as a semaphore, and the closing of a channel as a signal for all goroutines.
TEST_P(communicating, S33_a_channel_as_semaphore_and_as_signal) {
  run([] {
    constexpr std::size_t limit = 3;
    chan<bool> const slots(limit);
    chan<bool> const begin;
    rt::atomic<int> inside{0};
    rt::atomic<int> most{0};
    wait_group all;
    for (int i = 0; i < 50; ++i) {
      all.go([&] {
        (void)begin.recv();
        slots.send(true);
        int const now = inside.fetch_add(1, rt::acq_rel) + 1;
        int seen = most.load(rt::relaxed);
        while (seen < now && !most.compare_exchange_weak(seen, now, rt::relaxed, rt::relaxed)) {
        }
        thrum::yield();
        inside.fetch_sub(1, rt::acq_rel);
        (void)slots.recv();
      });
    }
    begin.close();
    all.wait();
    EXPECT_LE(most.load(rt::relaxed), static_cast<int>(limit));
    EXPECT_GE(most.load(rt::relaxed), 1);
  });
}

}  // namespace
}  // namespace thrum
