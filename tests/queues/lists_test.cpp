// The lists and blocks of words under the queues.
#include "core/blocks.h"
#include "core/entry.h"
#include "core/slab.h"
#include "core/sudog.h"
#include "os/fault.h"
#include "support/fake_gs.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

using test::fake_gs;

TEST(g_list, is_a_queue) {
  fake_gs gs(3);
  g_list list;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.pop_front(), nullptr);
  for (std::size_t i = 0; i < 3; ++i) {
    list.push_back(gs[i]);
    EXPECT_EQ(list.size(), i + 1);
  }
  EXPECT_EQ(list.pop_front(), &gs[0]);
  list.push_back(gs[0]);  // while others are in it
  EXPECT_EQ(list.pop_front(), &gs[1]);
  EXPECT_EQ(list.pop_front(), &gs[2]);
  EXPECT_EQ(list.pop_front(), &gs[0]);
  EXPECT_EQ(list.pop_front(), nullptr);
  EXPECT_EQ(list.size(), 0U);
  list.push_back(gs[1]);  // after it was empty
  EXPECT_EQ(list.pop_front(), &gs[1]);
}

TEST(word_queue, keeps_its_order_across_blocks) {
  word_queue queue;
  ASSERT_TRUE(queue.reserve(10'000));
  std::deque<std::uintptr_t> model;
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same every time
  std::uintptr_t next = 1;
  for (int step = 0; step < 100'000; ++step) {
    bool const mostly_puts = step / 5000 % 2 == 0;  // it fills up, and runs empty
    if (model.size() < 10'000 && random() % 8 < (mostly_puts ? 6 : 2)) {
      queue.push(next);
      model.push_back(next++);
    } else {
      std::uintptr_t const expected = model.empty() ? 0 : model.front();
      if (!model.empty()) model.pop_front();
      ASSERT_EQ(queue.pop(), expected);
    }
    ASSERT_EQ(queue.size(), model.size());
    ASSERT_EQ(queue.empty(), model.empty());
  }
}

TEST(word_queue, visits_no_more_words_than_it_was_asked_for) {
  constexpr std::uint32_t crowd = 1000;
  word_queue queue;
  ASSERT_TRUE(queue.reserve(crowd));
  for (std::uintptr_t word = 1; word <= crowd; ++word) queue.push(word);
  ASSERT_EQ(queue.pop(), 1U);  // so that the first word is not the first one of its block
  for (std::uint32_t const most : {0U, 1U, word_block::capacity - 1, word_block::capacity, crowd - 1, crowd + 5}) {
    std::vector<std::uintptr_t> visited;
    queue.for_each(most, [&](std::uintptr_t word) { visited.push_back(word); });
    ASSERT_EQ(visited.size(), std::min(most, crowd - 1));
    for (std::size_t i = 0; i < visited.size(); ++i) ASSERT_EQ(visited[i], i + 2);
  }
}

TEST(word_queue, room_that_was_reserved_is_there_wherever_the_queue_begins) {
  constexpr std::size_t words = 1000;
  for (std::size_t begin = 0; begin <= word_block::capacity; ++begin) {
    word_queue queue;
    ASSERT_TRUE(queue.reserve(words));
    os::inject_fault(os::call::mmap, ENOMEM, 0, os::fault_for_good);
    for (std::size_t i = 0; i < begin; ++i) queue.push(7);  // the first block is half used when the crowd comes
    for (std::size_t i = 1; i < begin; ++i) ASSERT_EQ(queue.pop(), 7U);
    for (std::size_t i = 0; i + 1 < words; ++i) queue.push(i + 1);
    EXPECT_FALSE(queue.reserve(100'000)) << "there is no memory";
    os::clear_faults();
    if (begin > 0) {
      ASSERT_EQ(queue.pop(), 7U);
    }
    for (std::size_t i = 0; i + 1 < words; ++i) ASSERT_EQ(queue.pop(), i + 1);
    EXPECT_TRUE(queue.empty());
  }
}

TEST(word_stack, answers_the_last_first) {
  word_stack stack;
  ASSERT_TRUE(stack.reserve(10'000));
  std::vector<std::uintptr_t> model;
  std::mt19937 random(2);  // NOLINT(cert-msc51-cpp)
  std::uintptr_t next = 1;
  for (int step = 0; step < 100'000; ++step) {
    bool const mostly_puts = step / 5000 % 2 == 0;
    if (model.size() < 10'000 && random() % 8 < (mostly_puts ? 6 : 2)) {
      stack.push(next);
      model.push_back(next++);
    } else {
      std::uintptr_t const expected = model.empty() ? 0 : model.back();
      if (!model.empty()) model.pop_back();
      ASSERT_EQ(stack.pop(), expected);
    }
    ASSERT_EQ(stack.size(), model.size());
  }
}

TEST(sudog_list, answers_the_last_first_and_unlinks_it) {
  sudog two[2];
  sudog_list list;
  EXPECT_EQ(list.pop(), nullptr);
  list.push(&two[0]);
  list.push(&two[1]);
  EXPECT_EQ(list.size(), 2U);
  EXPECT_EQ(list.pop(), &two[1]);
  EXPECT_EQ(two[1].next, nullptr);
  EXPECT_EQ(list.pop(), &two[0]);
  EXPECT_EQ(list.size(), 0U);
}

TEST(slab, makes_records_that_stay_where_they_are) {
  slab<G> records;
  std::set<G*> made;
  for (std::uint64_t i = 0; i < 5000; ++i) {  // some chunks
    G* const g = records.make();
    ASSERT_NE(g, nullptr);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(g) % alignof(G), 0U);
    g->id = i;
    ASSERT_TRUE(made.insert(g).second);
  }
  std::set<G*> seen;
  std::uint64_t sum = 0;
  records.for_each([&](G& g) {
    EXPECT_TRUE(seen.insert(&g).second);
    sum += g.id;
  });
  EXPECT_EQ(seen, made);
  EXPECT_EQ(sum, 5000ULL * 4999 / 2) << "nothing was written over";
}

TEST(slab, answers_null_when_there_is_no_memory_and_recovers) {
  slab<G> records;
  os::inject_fault(os::call::mmap, ENOMEM);
  EXPECT_EQ(records.make(), nullptr);
  EXPECT_NE(records.make(), nullptr);
  os::clear_faults();
}

}  // namespace
}  // namespace thrum::rt
