// What a channel does, with every number of Ps: blocking and being released, closing and draining, order, and size
// (CH-01, CH-02, CH-04, CH-05, CH-07, CH-16).
#include "base/atomic.h"
#include "support/channels.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include <thrum/chan.h>
#include <thrum/go.h>
#include <thrum/wait_group.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

class channels : public at_every_width {};
THRUM_AT_EVERY_WIDTH(channels);

// CH-01 and CH-02 ask for capacities 0 to 199; a step saves time where it is short.
std::size_t capacity_step() { return static_cast<std::size_t>(rt::with_tsan || rt::with_asan ? 23 : 1); }

TEST_P(channels, CH01_receive_from_empty_waits_for_a_sender) {
  run([] {
    for (std::size_t capacity = 0; capacity < 200; capacity += capacity_step()) {
      chan<int> const c(capacity);
      EXPECT_FALSE(c.try_recv());
      EXPECT_FALSE(c.try_recv().closed);
      int got[2] = {};
      wait_group received;
      for (int& each : got) {
        received.go([&, c] { each = c.recv().value_or(-1); });
      }
      ASSERT_TRUE(wait_until_receivers(c, 2));
      EXPECT_EQ(got[0], 0);
      EXPECT_EQ(got[1], 0);
      EXPECT_FALSE(c.try_recv());
      c.send(1);
      c.send(1);
      received.wait();
      EXPECT_EQ(got[0] + got[1], 2) << "capacity " << capacity;
      EXPECT_EQ(waiting_on(c), waiters());
    }
  });
}

TEST_P(channels, CH01_send_to_full_waits_for_a_receiver) {
  run([] {
    for (std::size_t capacity = 0; capacity < 200; capacity += capacity_step()) {
      chan<std::size_t> const c(capacity);
      for (std::size_t i = 0; i < capacity; ++i) c.send(i);
      EXPECT_FALSE(c.try_send(1000));
      rt::atomic<int> sent{0};
      go([&, c] {
        c.send(capacity);
        sent.store(1, rt::release);
      });
      ASSERT_TRUE(wait_until_senders(c, 1));
      EXPECT_EQ(sent.load(rt::relaxed), 0);
      EXPECT_FALSE(c.try_send(1000));
      for (std::size_t i = 0; i <= capacity; ++i) EXPECT_EQ(c.recv(), i) << "capacity " << capacity;
      ASSERT_TRUE(wait_until([&] { return sent.load(rt::acquire) == 1; }));  // acquire: the next one takes its place
      EXPECT_EQ(waiting_on(c), waiters());
    }
  });
}

TEST_P(channels, CH02_after_close_the_buffer_drains_in_order) {
  run([] {
    for (std::size_t capacity = 0; capacity < 200; capacity += capacity_step()) {
      chan<std::size_t> const c(capacity);
      for (std::size_t i = 0; i < capacity; ++i) c.send(i);
      c.close();
      for (std::size_t i = 0; i < capacity; ++i) {
        if (i % 2 == 0) {
          EXPECT_EQ(c.recv(), i);
        } else {
          auto const next = c.try_recv();
          EXPECT_EQ(next.value, i);
          EXPECT_FALSE(next.closed);
        }
      }
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(c.recv(), std::nullopt);
        auto const next = c.try_recv();
        EXPECT_EQ(next.value, std::nullopt);
        EXPECT_TRUE(next.closed);
      }
    }
  });
}

TEST_P(channels, CH02_close_releases_waiting_receivers) {
  run([] {
    for (std::size_t capacity = 0; capacity < 200; capacity += capacity_step()) {
      chan<int> const c(capacity);
      bool closed[3] = {};
      wait_group released;
      for (bool& each : closed) {
        released.go([&, c] { each = !c.recv().has_value(); });
      }
      ASSERT_TRUE(wait_until_receivers(c, 3));
      c.close();
      released.wait();
      EXPECT_TRUE(closed[0] && closed[1] && closed[2]) << "capacity " << capacity;
    }
  });
}

TEST_P(channels, CH02_close_throws_in_waiting_senders_whose_values_are_not_sent) {
  run([] {
    for (std::size_t const capacity : {0, 1, 7}) {
      chan<std::string> const c(capacity);
      for (std::size_t i = 0; i < capacity; ++i) c.send("in time");
      rt::atomic<int> refused{0};
      wait_group released;
      for (int i = 0; i < 3; ++i) {
        released.go([&, c] {
          try {
            c.send("too late");
          } catch (channel_closed const&) {
            refused.fetch_add(1, rt::relaxed);
          }
        });
      }
      ASSERT_TRUE(wait_until_senders(c, 3));
      c.close();
      released.wait();
      EXPECT_EQ(refused.load(rt::relaxed), 3);
      for (std::size_t i = 0; i < capacity; ++i) EXPECT_EQ(c.recv(), "in time");
      EXPECT_EQ(c.recv(), std::nullopt);
    }
  });
}

// The second half of Go's TestChan: values arrive once, and those of one sender in order.
TEST_P(channels, CH02_nothing_is_lost_or_doubled_between_four_senders_and_four_receivers) {
  run([] {
    std::int64_t const each = scaled(1000, 100);
    for (std::size_t capacity = 0; capacity < 200; capacity += 37) {
      constexpr int parties = 4;
      chan<std::int64_t> const c(capacity);
      wait_group senders;
      for (int s = 0; s < parties; ++s) {
        senders.go([=] {
          for (std::int64_t i = 0; i < each; ++i) c.send(i * parties + s);
        });
      }
      std::vector<std::vector<std::int64_t>> got(parties);
      wait_group receivers;
      for (auto& mine : got) {
        receivers.go([&, c] {
          for (std::int64_t const value : c) mine.push_back(value);
        });
      }
      senders.wait();
      c.close();
      receivers.wait();
      std::vector<int> times(static_cast<std::size_t>(parties * each));
      for (auto const& mine : got) {
        std::int64_t last[parties] = {-1, -1, -1, -1};
        for (std::int64_t const value : mine) {
          ++times[static_cast<std::size_t>(value)];
          ASSERT_GT(value / parties, last[value % parties]) << "one sender's values overtook each other";
          last[value % parties] = value / parties;
        }
      }
      for (int const count : times) ASSERT_EQ(count, 1);
    }
  });
}

TEST_P(channels, CH04_size_and_capacity) {
  run([] {
    chan<int> const c(10);
    EXPECT_EQ(c.size(), 0U);
    EXPECT_EQ(c.capacity(), 10U);
    for (int i = 0; i < 3; ++i) c.send(i);
    EXPECT_EQ(c.size(), 3U);
    EXPECT_EQ(c.capacity(), 10U);
    chan<int> const unbuffered;
    EXPECT_EQ(unbuffered.size(), 0U);
    EXPECT_EQ(unbuffered.capacity(), 0U);
    chan<int> const nil(nullptr);
    EXPECT_EQ(nil.size(), 0U);
    EXPECT_EQ(nil.capacity(), 0U);
    suspect const sender([=] { unbuffered.send(1); });
    ASSERT_TRUE(wait_until_senders(unbuffered, 1));
    EXPECT_EQ(unbuffered.size(), 0U) << "a waiting sender is not in the buffer";
    EXPECT_EQ(unbuffered.recv(), 1);
  });
}

TEST(channels, CH04_a_capacity_that_no_memory_holds_throws) {
  for (std::size_t const capacity : {static_cast<std::size_t>(-1), std::size_t{1} << 59U,
                                     static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max())}) {
    EXPECT_THROW(chan<char> c(capacity), channel_error);
    EXPECT_THROW(chan<int> c(capacity), channel_error);
    EXPECT_THROW(chan<std::string> c(capacity), channel_error);
  }
}

TEST_P(channels, CH05_a_closed_channel_with_a_value_is_always_ready) {
  run([] {
    std::int64_t const rounds = scaled(10'000, 500);
    for (std::int64_t i = 0; i < rounds; ++i) {
      chan<int> const c(1);
      c.send(1);
      auto looks = spawn([=] {
        auto const found = c.try_recv();
        return found.value.has_value() || found.closed;
      });
      c.close();
      (void)c.recv();
      ASSERT_TRUE(looks.join()) << "round " << i;
    }
  });
}

TEST_P(channels, CH07_waiting_receivers_are_served_in_order_of_coming) {
  run([] {
    for (int round = 0; round < 20; ++round) {
      constexpr int crowd = 10;
      chan<int> const c;
      int got[crowd] = {};
      wait_group all;
      for (int i = 0; i < crowd; ++i) {
        all.go([&, i] { got[i] = *c.recv(); });
        ASSERT_TRUE(wait_until_receivers(c, static_cast<std::size_t>(i) + 1));
      }
      for (int i = 0; i < crowd; ++i) c.send(i);
      all.wait();
      for (int i = 0; i < crowd; ++i) EXPECT_EQ(got[i], i);
    }
  });
}

TEST_P(channels, CH07_waiting_senders_are_served_in_order_of_coming) {
  run([] {
    for (std::size_t const capacity : {0, 3}) {
      constexpr int crowd = 10;
      chan<int> const c(capacity);
      for (std::size_t i = 0; i < capacity; ++i) c.send(-1);
      wait_group all;
      for (int i = 0; i < crowd; ++i) {
        all.go([=] { c.send(i); });
        ASSERT_TRUE(wait_until_senders(c, static_cast<std::size_t>(i) + 1));
      }
      for (std::size_t i = 0; i < capacity; ++i) EXPECT_EQ(c.recv(), -1);
      for (int i = 0; i < crowd; ++i) EXPECT_EQ(c.recv(), i);
      all.wait();
    }
  });
}

template <class T>
void meet_with_try_forms(T const& value) {
  chan<T> const there;
  chan<T> const back;
  go([=] {
    EXPECT_EQ(there.recv(), value);
    back.send(value);
  });
  // As long as it takes: the partner may be on a thread that the machine has yet to run.
  EXPECT_TRUE(wait_until([&] { return there.try_send(value); }));
  std::optional<T> got;
  EXPECT_TRUE(wait_until([&] { return (got = back.try_recv().value).has_value(); }));
  EXPECT_EQ(got, value);
}

TEST_P(channels, CH16_the_try_forms_meet_a_waiting_partner) {
  run([] {
    meet_with_try_forms<std::int32_t>(123456);
    meet_with_try_forms<std::int64_t>(1LL << 40);
    meet_with_try_forms<bool>(true);
    meet_with_try_forms<std::string>("a string that is too long to be stored inside");
  });
}

}  // namespace
}  // namespace thrum::test
