// The wait queues behind every primitive: in order of coming, whatever else shares the bucket.
#include "core/wait_table.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

// These are addresses only. The table does not read the memory that they point to.
void const* address(std::size_t number) { return reinterpret_cast<void const*>(0x10000 + 8 * number); }

class locked_bucket {
 public:
  locked_bucket() { bucket.acquire(); }
  ~locked_bucket() { bucket.release(); }
  wait_bucket bucket;
};

TEST(wait_bucket, S26_waiters_of_one_address_leave_in_order_of_coming) {
  locked_bucket locked;
  sudog waiters[5];
  for (auto& waiter : waiters) locked.bucket.enqueue(waiter, address(1), queue_end::back);
  EXPECT_TRUE(locked.bucket.has_waiters(address(1)));
  EXPECT_FALSE(locked.bucket.has_waiters(address(2)));
  for (int i = 0; i < 5; ++i) {
    bool more = false;
    EXPECT_EQ(locked.bucket.dequeue(address(1), more), &waiters[i]);
    EXPECT_EQ(more, i < 4);
  }
  EXPECT_FALSE(locked.bucket.has_waiters(address(1)));
  bool more = true;
  EXPECT_EQ(locked.bucket.dequeue(address(1), more), nullptr);
  EXPECT_FALSE(more);
}

TEST(wait_bucket, one_that_comes_back_goes_to_the_front) {
  locked_bucket locked;
  sudog waiters[3];
  locked.bucket.enqueue(waiters[0], address(1), queue_end::back);
  locked.bucket.enqueue(waiters[1], address(1), queue_end::back);
  locked.bucket.enqueue(waiters[2], address(1), queue_end::front);
  bool more = false;
  EXPECT_EQ(locked.bucket.dequeue(address(1), more), &waiters[2]);
  EXPECT_EQ(locked.bucket.dequeue(address(1), more), &waiters[0]);
  EXPECT_EQ(locked.bucket.dequeue(address(1), more), &waiters[1]);
}

TEST(wait_bucket, a_waiter_that_left_carries_no_links_along) {
  locked_bucket locked;
  sudog waiters[4];
  locked.bucket.enqueue(waiters[0], address(5), queue_end::back);
  locked.bucket.enqueue(waiters[1], address(3), queue_end::back);
  locked.bucket.enqueue(waiters[2], address(7), queue_end::back);
  locked.bucket.enqueue(waiters[3], address(5), queue_end::back);
  bool more = false;
  sudog const* const first = locked.bucket.dequeue(address(5), more);
  ASSERT_EQ(first, &waiters[0]);
  EXPECT_EQ(first->next, nullptr);
  EXPECT_EQ(first->last, nullptr);
  EXPECT_EQ(first->left, nullptr);
  EXPECT_EQ(first->right, nullptr);
  EXPECT_EQ(first->address, nullptr);
}

TEST(wait_bucket, a_detached_queue_holds_all_waiters_of_its_address_and_no_others) {
  locked_bucket locked;
  sudog waiters[4];
  sudog others[20];
  sudog newcomer;
  G g;
  for (auto& each : waiters) each.g = &g;
  for (std::size_t i = 0; i < 10; ++i) locked.bucket.enqueue(others[i], address(10 + i), queue_end::back);
  for (auto& waiter : waiters) locked.bucket.enqueue(waiter, address(5), queue_end::back);
  for (std::size_t i = 10; i < 20; ++i)
    locked.bucket.enqueue(others[i], address(i - 10 + (i >= 15 ? 20 : 0)), queue_end::back);
  detached_queue all;
  locked.bucket.detach(address(5), all);
  EXPECT_FALSE(locked.bucket.has_waiters(address(5)));
  locked.bucket.enqueue(newcomer, address(5), queue_end::back);
  for (auto& waiter : waiters) {
    EXPECT_FALSE(all.empty());
    EXPECT_EQ(all.pop(), &waiter);
    EXPECT_EQ(waiter.address, nullptr);
    EXPECT_EQ(waiter.next, nullptr);
    EXPECT_EQ(waiter.left, nullptr);
  }
  EXPECT_TRUE(all.empty());
  EXPECT_EQ(all.pop(), nullptr);
  bool more = true;
  EXPECT_EQ(locked.bucket.dequeue(address(5), more), &newcomer);
  EXPECT_FALSE(more);
  std::size_t left = 0;
  locked.bucket.for_each([&](sudog const&) { ++left; });
  EXPECT_EQ(left, 20U);
  detached_queue none;
  locked.bucket.detach(address(5), none);
  EXPECT_TRUE(none.empty());
}

TEST(wait_bucket, one_that_gives_up_leaves_a_detached_queue_from_anywhere) {
  for (bool const others_come : {false, true}) {
    for (std::size_t leaver = 0; leaver < 3; ++leaver) {
      locked_bucket locked;
      sudog waiters[3];
      sudog newcomers[2];
      for (auto& waiter : waiters) locked.bucket.enqueue(waiter, address(1), queue_end::back);
      detached_queue all;
      locked.bucket.detach(address(1), all);
      if (others_come) {
        for (auto& newcomer : newcomers) locked.bucket.enqueue(newcomer, address(1), queue_end::back);
      }
      bool more = !others_come;
      bool const stood_there = locked.bucket.remove(waiters[leaver], more);
      EXPECT_EQ(stood_there, others_come) << "without others it leaves the object to the waker that detached its queue";
      EXPECT_EQ(more, others_come);
      EXPECT_EQ(waiters[leaver].address, nullptr);
      EXPECT_FALSE(locked.bucket.remove(waiters[leaver], more));
      for (std::size_t i = 0; i < 3; ++i) {
        if (i == leaver) continue;
        EXPECT_EQ(all.pop(), &waiters[i]);
      }
      EXPECT_TRUE(all.empty());
      if (!others_come) continue;
      for (auto& newcomer : newcomers) EXPECT_EQ(locked.bucket.dequeue(address(1), more), &newcomer);
      EXPECT_FALSE(more);
    }
  }
}

TEST(wait_bucket, a_detached_waiter_that_another_waker_has_won_is_left_to_it) {
  locked_bucket locked;
  G gs[2];
  sudog waiters[2];
  for (std::size_t i = 0; i < 2; ++i) {
    waiters[i].g = &gs[i];
    waiters[i].in_race = true;
    gs[i].race.begin();
    locked.bucket.enqueue(waiters[i], address(1), queue_end::back);
  }
  ASSERT_TRUE(gs[0].race.win());
  detached_queue all;
  locked.bucket.detach(address(1), all);
  EXPECT_EQ(all.pop(), nullptr);
  EXPECT_FALSE(all.empty());
  EXPECT_EQ(all.pop(), &waiters[1]);
  EXPECT_TRUE(all.empty());
}

TEST(wait_bucket, one_that_gives_up_leaves_from_anywhere_in_its_queue) {
  for (std::size_t leaver = 0; leaver < 4; ++leaver) {
    locked_bucket locked;
    sudog waiters[4];
    for (auto& waiter : waiters) locked.bucket.enqueue(waiter, address(1), queue_end::back);
    bool more = false;
    ASSERT_TRUE(locked.bucket.remove(waiters[leaver], more));
    EXPECT_TRUE(more);
    EXPECT_FALSE(locked.bucket.remove(waiters[leaver], more)) << "it is out already";
    locked.bucket.enqueue(waiters[leaver], address(1), queue_end::back);  // the end of the queue is where it should be
    for (std::size_t i = 0; i < 4; ++i) {
      if (i != leaver) {
        EXPECT_EQ(locked.bucket.dequeue(address(1), more), &waiters[i]);
      }
    }
    EXPECT_EQ(locked.bucket.dequeue(address(1), more), &waiters[leaver]);
    EXPECT_FALSE(more);
  }
}

TEST(wait_bucket, the_last_one_that_gives_up_leaves_its_address_empty) {
  locked_bucket locked;
  sudog waiters[3];
  locked.bucket.enqueue(waiters[0], address(5), queue_end::back);
  locked.bucket.enqueue(waiters[1], address(3), queue_end::back);
  locked.bucket.enqueue(waiters[2], address(7), queue_end::back);
  bool more = true;
  EXPECT_TRUE(locked.bucket.remove(waiters[0], more));
  EXPECT_FALSE(more);
  EXPECT_FALSE(locked.bucket.has_waiters(address(5)));
  EXPECT_EQ(locked.bucket.first(address(3)), &waiters[1]);
  EXPECT_EQ(locked.bucket.first(address(7)), &waiters[2]);
  EXPECT_EQ(locked.bucket.dequeue(address(7), more), &waiters[2]);
  EXPECT_FALSE(locked.bucket.remove(waiters[2], more)) << "a waker came first";
}

// Random traffic of many addresses in one bucket against a map of queues.
TEST(wait_bucket, S26_a_crowded_bucket_agrees_with_a_map_of_queues) {
  constexpr std::size_t addresses = 300;
  constexpr std::size_t waiters_max = 2000;
  for (unsigned seed = 0; seed < 5; ++seed) {
    std::mt19937 random(seed);
    locked_bucket locked;
    auto const waiters = std::make_unique<sudog[]>(waiters_max);
    std::vector<sudog*> free;
    for (std::size_t i = 0; i < waiters_max; ++i) free.push_back(&waiters[i]);
    std::map<std::size_t, std::deque<sudog*>> model;
    for (int step = 0; step < 20'000; ++step) {
      std::size_t const at = random() % addresses;
      bool const filling = step / 2000 % 2 == 0;
      if (!free.empty() && random() % 8 < (filling ? 6 : 2)) {
        sudog* const one = free.back();
        free.pop_back();
        auto const where = random() % 4 == 0 ? queue_end::front : queue_end::back;
        locked.bucket.enqueue(*one, address(at), where);
        if (where == queue_end::front) {
          model[at].push_front(one);
        } else {
          model[at].push_back(one);
        }
      } else if (auto& queue = model[at]; random() % 3 == 0 && !queue.empty()) {
        auto const leaver = queue.begin() + static_cast<std::ptrdiff_t>(random() % queue.size());
        bool more = false;
        ASSERT_TRUE(locked.bucket.remove(**leaver, more)) << "seed " << seed << " step " << step;
        free.push_back(*leaver);
        queue.erase(leaver);
        ASSERT_EQ(more, !queue.empty());
      } else {
        ASSERT_EQ(locked.bucket.has_waiters(address(at)), !queue.empty());
        bool more = false;
        sudog* const got = locked.bucket.dequeue(address(at), more);
        ASSERT_EQ(got, queue.empty() ? nullptr : queue.front()) << "seed " << seed << " step " << step;
        if (got == nullptr) continue;
        queue.pop_front();
        ASSERT_EQ(more, !queue.empty());
        free.push_back(got);
      }
    }
    for (auto& [at, queue] : model) {
      bool more = !queue.empty();
      for (sudog* const expected : queue) {
        ASSERT_TRUE(more);
        ASSERT_EQ(locked.bucket.dequeue(address(at), more), expected);
      }
      ASSERT_FALSE(more);
      ASSERT_FALSE(locked.bucket.has_waiters(address(at)));
    }
  }
}

// SY-05's reason: addresses that come in sorted order must not make a list of the tree.
TEST(wait_bucket, SY_05_sorted_addresses_still_make_a_shallow_tree) {
  constexpr std::size_t addresses = 10'000;
  locked_bucket locked;
  auto const waiters = std::make_unique<sudog[]>(addresses);
  for (std::size_t i = 0; i < addresses; ++i) locked.bucket.enqueue(waiters[i], address(i), queue_end::back);
  // The depth of a node is not visible, the subtrees are: every node on a path of pure left or right children would be
  // found here.
  std::map<sudog const*, std::size_t> height;
  auto const measure = [&](auto const& self, sudog const* node) -> std::size_t {
    if (node == nullptr) return 0;
    auto const known = height.find(node);
    if (known != height.end()) return known->second;
    return height[node] = 1 + std::max(self(self, node->left), self(self, node->right));
  };
  std::size_t tallest = 0;
  for (std::size_t i = 0; i < addresses; ++i) tallest = std::max(tallest, measure(measure, &waiters[i]));
  EXPECT_LT(tallest, 60U) << "log2(10,000) is 13; a random treap has some 30";
  EXPECT_GT(tallest, 13U);
}

TEST(wait_table, neighbours_do_not_share_a_bucket) {
  auto const table = std::make_unique<wait_table>();
  int shared = 0;
  for (std::size_t i = 0; i < 100; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      shared += &table->bucket_of(address(i)) == &table->bucket_of(address(j)) ? 1 : 0;
    }
  }
  EXPECT_EQ(shared, 0);
  EXPECT_EQ(&table->bucket_of(address(3)), &table->bucket_of(address(3)));
}

}  // namespace
}  // namespace thrum::rt
