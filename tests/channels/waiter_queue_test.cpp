// The queue of a channel: FIFO, waiters that leave from anywhere, selects that were woken elsewhere.
#include "chan/channel.h"
#include "core/entry.h"
#include "core/g.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::detail {
namespace {

// Waiters of their own goroutines, numbered from 0; a select is one goroutine with several of them.
struct crowd {
  explicit crowd(std::size_t count) : gs(std::make_unique<rt::G[]>(count)), waiters(count) {
    for (std::size_t i = 0; i < count; ++i) waiters[i].g = &gs[i];
  }
  void make_select(std::size_t waiter, std::size_t g) {
    waiters[waiter].is_select = true;
    waiters[waiter].g = &gs[g];
    gs[g].race.begin();
  }
  channel_waiter& operator[](std::size_t i) { return waiters[i]; }

  std::unique_ptr<rt::G[]> gs;
  std::vector<channel_waiter> waiters;
};

// In order, by walking it both ways.
std::vector<channel_waiter const*> contents(waiter_queue const& queue) {
  std::vector<channel_waiter const*> forward;
  for (auto const* each = queue.first(); each != nullptr; each = each->next) {
    EXPECT_TRUE(each->is_queued);
    EXPECT_EQ(each->previous, forward.empty() ? nullptr : forward.back());
    forward.push_back(each);
  }
  EXPECT_EQ(queue.is_empty(), forward.empty());
  EXPECT_EQ(queue.looks_empty(), forward.empty());
  return forward;
}

TEST(waiter_queue, CH07_first_come_first_served) {
  crowd c(5);
  waiter_queue queue;
  EXPECT_EQ(queue.pop(), nullptr);
  for (auto& each : c.waiters) queue.push_back(each);
  EXPECT_EQ(contents(queue).size(), 5U);
  for (auto& each : c.waiters) {
    EXPECT_EQ(queue.pop(), &each);
    EXPECT_FALSE(each.is_queued);
  }
  EXPECT_EQ(queue.pop(), nullptr);
  EXPECT_TRUE(queue.looks_empty());
}

TEST(waiter_queue, SE05_one_leaves_from_the_front_the_middle_and_the_end) {
  for (std::size_t leaves = 0; leaves < 3; ++leaves) {
    crowd c(4);
    waiter_queue queue;
    for (std::size_t i = 0; i < 3; ++i) queue.push_back(c[i]);
    queue.remove(c[leaves]);
    EXPECT_FALSE(c[leaves].is_queued);
    queue.remove(c[leaves]);  // not there any more: nothing happens
    EXPECT_EQ(contents(queue).size(), 2U);
    queue.push_back(c[3]);
    std::vector<channel_waiter*> expected;
    for (std::size_t i = 0; i < 4; ++i) {
      if (i != leaves) expected.push_back(&c[i]);
    }
    for (auto* const each : expected) EXPECT_EQ(queue.pop(), each);
    EXPECT_EQ(queue.pop(), nullptr);
  }
}

TEST(waiter_queue, the_only_one_leaves_and_comes_back) {
  crowd c(1);
  waiter_queue queue;
  for (int i = 0; i < 3; ++i) {
    queue.push_back(c[0]);
    queue.remove(c[0]);
    EXPECT_TRUE(contents(queue).empty());
  }
  queue.push_back(c[0]);
  EXPECT_EQ(queue.pop(), &c[0]);
}

TEST(waiter_queue, S26_a_select_that_was_woken_elsewhere_is_passed_over) {
  crowd c(4);
  waiter_queue queue;
  c.make_select(0, 0);
  c.make_select(2, 2);
  for (auto& each : c.waiters) queue.push_back(each);
  ASSERT_TRUE(c.gs[0].race.win());
  ASSERT_TRUE(c.gs[2].race.win());
  EXPECT_EQ(queue.pop(), &c[1]);
  EXPECT_FALSE(c[0].is_queued) << "it was taken out on the way: its goroutine need not find it there";
  EXPECT_EQ(queue.pop(), &c[3]);
  EXPECT_EQ(queue.pop(), nullptr);
  EXPECT_EQ(c.gs[0].wake_parameter, nullptr) << "its waker said what for";
}

TEST(waiter_queue, S26_a_select_is_popped_once_and_told_which_case_it_was) {
  crowd c(3);
  waiter_queue queue;
  waiter_queue other_queue;
  c.make_select(0, 0);
  c[1].is_select = true;
  c[1].g = &c.gs[0];
  c[2].is_select = true;
  c[2].g = &c.gs[0];
  queue.push_back(c[0]);
  queue.push_back(c[1]);  // the same channel twice
  other_queue.push_back(c[2]);
  EXPECT_EQ(queue.pop(), &c[0]);
  EXPECT_EQ(c.gs[0].wake_parameter, &c[0]);
  EXPECT_EQ(queue.pop(), nullptr);
  EXPECT_EQ(other_queue.pop(), nullptr);
}

TEST(waiter_queue, close_takes_every_waiter_that_can_be_woken_once) {
  crowd c(6);
  waiter_queue receivers;
  waiter_queue senders;
  c.make_select(1, 1);  // on both sides
  c[4].is_select = true;
  c[4].g = &c.gs[1];
  c.make_select(2, 2);  // woken elsewhere
  ASSERT_TRUE(c.gs[2].race.win());
  for (std::size_t i = 0; i < 3; ++i) receivers.push_back(c[i]);
  for (std::size_t i = 3; i < 6; ++i) senders.push_back(c[i]);
  std::array<rt::G*, 3> taken{};
  detached_waiters closed_receivers;
  detached_waiters closed_senders;
  receivers.detach(closed_receivers);
  senders.detach(closed_senders);
  EXPECT_TRUE(receivers.is_empty() && senders.is_empty());
  ASSERT_EQ(closed_receivers.pop_some({taken.data(), 2}), 2U);
  EXPECT_EQ(taken[0], &c.gs[0]);
  EXPECT_EQ(taken[1], &c.gs[1]);
  EXPECT_FALSE(closed_receivers.empty());
  EXPECT_EQ(closed_receivers.pop_some({taken.data(), 2}), 0U) << "it was woken elsewhere";
  ASSERT_EQ(closed_senders.pop_some(taken), 2U) << "the second stands among the receivers, too";
  EXPECT_EQ(taken[0], &c.gs[3]);
  EXPECT_EQ(taken[1], &c.gs[5]);
  EXPECT_TRUE(closed_receivers.empty() && closed_senders.empty());
  for (auto const& each : c.waiters) EXPECT_FALSE(each.is_queued);
  receivers.push_back(c[0]);
  EXPECT_EQ(receivers.pop(), &c[0]) << "the queue can be used again";
}

TEST(waiter_queue, a_select_leaves_a_closed_channel_from_the_front_the_middle_and_the_end) {
  for (std::size_t leaves = 0; leaves < 3; ++leaves) {
    crowd c(3);
    waiter_queue queue;
    for (auto& each : c.waiters) queue.push_back(each);
    detached_waiters closed;
    queue.detach(closed);
    queue.remove(c[leaves]);
    EXPECT_TRUE(queue.is_empty());
    EXPECT_FALSE(c[leaves].is_queued);
    std::array<rt::G*, 3> taken{};
    ASSERT_EQ(closed.pop_some(taken), 2U);
    EXPECT_TRUE(closed.empty());
    std::size_t at = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      if (i == leaves) continue;
      EXPECT_EQ(taken[at++], &c.gs[i]);
    }
  }
  waiter_queue empty;
  detached_waiters taken_from_none;
  empty.detach(taken_from_none);
  EXPECT_TRUE(taken_from_none.empty());
}

TEST(waiter_queue, T12_what_is_forgotten_is_not_looked_at) {
  crowd alive(1);
  waiter_queue queue;
  {
    crowd gone(3);
    for (auto& each : gone.waiters) queue.push_back(each);
    queue.forget();
  }
  EXPECT_TRUE(queue.is_empty());
  queue.push_back(alive[0]);
  EXPECT_EQ(queue.pop(), &alive[0]);
  EXPECT_EQ(queue.pop(), nullptr);
}

// Random traffic against a deque.
TEST(waiter_queue, agrees_with_a_plain_list) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    crowd c(50);
    waiter_queue queue;
    std::deque<channel_waiter*> model;
    for (int step = 0; step < 5000; ++step) {
      channel_waiter& one = c[random() % 50];
      switch (random() % 3) {
        case 0:
          if (one.is_queued) break;
          queue.push_back(one);
          model.push_back(&one);
          break;
        case 1:
          queue.remove(one);
          std::erase(model, &one);
          break;
        default:
          ASSERT_EQ(queue.pop(), model.empty() ? nullptr : model.front()) << "seed " << seed << " step " << step;
          if (!model.empty()) model.pop_front();
      }
      if (step % 100 == 0) {
        auto const found = contents(queue);
        ASSERT_TRUE(std::equal(found.begin(), found.end(), model.begin(), model.end()));
      }
    }
  }
}

// A channel's buffer, without a scheduler: parcels of odd sizes go round in order.
TEST(channel_buffer, parcels_of_every_size_keep_their_order) {
  for (std::size_t const bytes : {1U, 2U, 3U, 4U, 7U, 8U, 16U, 24U, 128U}) {
    for (std::size_t const capacity : {1U, 2U, 5U}) {
      channel* const c = make_channel(capacity, {bytes, nullptr});
      std::size_t put = 0;
      std::size_t taken = 0;
      std::mt19937 random(1);
      for (int step = 0; step < 500; ++step) {
        std::vector<unsigned char> parcel(bytes);
        if (random() % 2 == 0 && c->count.load(relaxed) < capacity) {
          std::fill(parcel.begin(), parcel.end(), static_cast<unsigned char>(put++));
          c->put(parcel.data());
        } else if (c->count.load(relaxed) != 0) {
          c->take(parcel.data());
          for (unsigned char const each : parcel) ASSERT_EQ(each, static_cast<unsigned char>(taken));
          ++taken;
        }
        ASSERT_EQ(size(c), put - taken);
        ASSERT_EQ(c->looks_empty(), put == taken);
        ASSERT_EQ(c->looks_full(), put - taken == capacity);
      }
      release_channel(c);
    }
  }
}

}  // namespace
}  // namespace thrum::detail
