// Free stacks soon lose the depth that a goroutine once used, and only what was not used meanwhile.
#include "base/limits.h"
#include "base/random.h"
#include "core/current.h"
#include "stack/free_stacks.h"
#include "stack/stack_pool.h"
#include "stacks/mappings.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

using test::resident_pages;
using thrum::test::run_with;
using thrum::test::wait_until;

// --- the list ---

struct model_of_list {
  std::deque<stack*> all;  // the top first
  std::size_t idle[2] = {0, 0};
};

// Against a plain model: every push, pop and cut, at random.
TEST(free_stacks_list, cuts_off_exactly_what_has_not_moved_since_the_last_cut_of_the_same_kind) {
  std::vector<stack> stacks(64);
  std::deque<stack*> outside;
  for (stack& each : stacks) outside.push_back(&each);
  free_stacks list;
  model_of_list model;
  random_source random(26);
  for (int step = 0; step < 100'000; ++step) {
    auto const what = static_cast<unsigned>(random.next() % 16);
    if (what < 7 && !outside.empty()) {
      stack* const one = outside.front();
      outside.pop_front();
      list.push(one, one, 1);
      model.all.push_front(one);
    } else if (what < 14 && !model.all.empty()) {
      ASSERT_EQ(list.pop(), model.all.front());
      outside.push_back(model.all.front());
      model.all.pop_front();
      for (std::size_t& idle : model.idle) idle = std::min(idle, model.all.size());
    } else if (what >= 14) {
      std::size_t const kind = what - 14;
      std::size_t const count = model.idle[kind];
      auto const part = list.cut(static_cast<idle_for>(kind));
      ASSERT_EQ(part.count, count);
      stack* at = part.first;
      for (std::size_t i = model.all.size() - count; i < model.all.size(); ++i, at = at->next) {
        ASSERT_EQ(at, model.all[i]);
        if (i + 1 == model.all.size()) {
          ASSERT_EQ(part.last, at);
        }
        outside.push_back(at);
      }
      ASSERT_EQ(at, nullptr);
      model.all.resize(model.all.size() - count);
      model.idle[1 - kind] -= std::min(model.idle[1 - kind], count);
      model.idle[kind] = model.all.size();
    }
    ASSERT_EQ(list.count(), model.all.size());
  }
}

// --- the pool ---

void touch_all(stack& one) {
  for (char* at = one.low; at < one.top; at += os::page_size()) *static_cast<char volatile*>(at) = 1;
}

std::size_t pages_kept() { return stack_trim_keep_bytes / os::page_size() + 2; }  // and the one that it begins in

TEST(stack_pool_trim, stacks_that_were_not_used_for_a_while_keep_some_pages_only) {
  stack_pool pool(stack_size_default);
  std::vector<stack*> some;
  for (int i = 0; i < 8; ++i) {
    some.push_back(pool.allocate(stack_size_default));
    touch_all(*some.back());
  }
  for (stack* const each : some) pool.release(each);
  EXPECT_EQ(pool.stats().untrimmed, 8U);
  pool.begin_trim();
  EXPECT_EQ(pool.trim(100), 0U) << "they have come just now";
  pool.begin_trim();
  EXPECT_EQ(pool.trim(3), 3U);
  EXPECT_EQ(pool.trim(100), 5U);
  for (stack* const each : some) EXPECT_LE(resident_pages(*each), pages_kept());
  EXPECT_EQ(pool.stats().untrimmed, 0U);
  EXPECT_EQ(pool.stats().free, 8U);
  for (int i = 0; i < 8; ++i) ASSERT_NE(pool.take_recycled(stack_size_default), nullptr);
  EXPECT_EQ(pool.take_recycled(stack_size_default), nullptr);
}

TEST(stack_pool_trim, one_that_is_used_again_and_again_is_left_alone) {
  stack_pool pool(stack_size_default);
  stack* const one = pool.allocate(stack_size_default);
  touch_all(*one);
  std::size_t const all = resident_pages(*one);
  for (int i = 0; i < 4; ++i) {
    pool.release(one);
    pool.begin_trim();
    EXPECT_EQ(pool.trim(100), 0U);
    ASSERT_EQ(pool.allocate(stack_size_default), one);
  }
  EXPECT_EQ(resident_pages(*one), all);
  pool.release(one);
}

TEST(stack_pool_trim, trimmed_ones_are_given_back_as_others_are) {
  stack_pool pool(stack_size_default);
  pool.release(pool.allocate(stack_size_default));
  for (int i = 0; i < 2; ++i) {
    pool.begin_trim();
    static_cast<void>(pool.trim(100));
  }
  EXPECT_EQ(pool.scavenge() + pool.scavenge(), 1U);
  EXPECT_EQ(pool.stats().given_back, 1U);
}

// --- a run ---

[[gnu::noinline]] int dive(int pages, wait_group& at_the_bottom) {
  char volatile frame[4096];
  frame[0] = 1;
  if (pages > 0) return dive(pages - 1, at_the_bottom) + frame[0];
  at_the_bottom.wait();
  return frame[0];
}

// Each on a stack of its own, most of which they use.
std::vector<stack*> burst_of_deep_recursion() {
  constexpr int many = 48;
  std::vector<stack*> stacks(many);
  wait_group down;
  wait_group gate;
  wait_group ended;
  gate.add(1);
  down.add(many);
  for (std::size_t i = 0; i < many; ++i) {
    ended.go([&, i] {
      stacks[i] = current_m()->current->on;
      down.done();
      static_cast<void>(dive(40, gate));
    });
  }
  down.wait();
  gate.done();
  ended.wait();
  return stacks;
}

std::size_t resident_pages_of(std::vector<stack*> const& stacks) {
  std::size_t sum = 0;
  for (stack const* const each : stacks) sum += resident_pages(*each);
  return sum;
}

constexpr auto hardly_ever = std::chrono::hours(1);

class trimming : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(P, trimming, testing::Values(1, 2, 8));

TEST_P(trimming, S32_the_depth_of_a_burst_goes_back_soon_while_the_program_rests) {
  run_with({.max_procs = GetParam(), .scavenge_after = hardly_ever}, [] {
    auto const stacks = burst_of_deep_recursion();
    std::size_t const limit = stacks.size() * pages_kept();
    for (int i = 0; i < 3000 && resident_pages_of(stacks) > limit; ++i) sleep_for(std::chrono::milliseconds(10));
    EXPECT_LE(resident_pages_of(stacks), limit);
  });
}

TEST_P(trimming, S32_and_while_all_ps_are_busy) {
  run_with({.max_procs = GetParam(), .scavenge_after = hardly_ever}, [] {
    auto const stacks = burst_of_deep_recursion();
    chan<int> to_and_fro;
    wait_group others;
    others.go([&] {
      while (to_and_fro.recv()) yield();
    });
    std::size_t const limit = stacks.size() * pages_kept();
    EXPECT_TRUE(wait_until([&] {
      to_and_fro.send(1);
      return resident_pages_of(stacks) <= limit;
    }));
    to_and_fro.close();
    others.wait();
  });
}

TEST_P(trimming, stats_tell_the_stacks_of_goroutines_from_those_that_are_kept_for_others) {
  run_with({.max_procs = GetParam(), .scavenge_after = hardly_ever}, [] {
    wait_group gate;
    wait_group ended;
    gate.add(1);
    for (int i = 0; i < 100; ++i) ended.go([&] { gate.wait(); });
    EXPECT_TRUE(wait_until([] { return read_stats().stacks_in_use == 101; })) << "main's and theirs";
    gate.done();
    ended.wait();
    EXPECT_TRUE(wait_until([] { return read_stats().stacks_in_use == 1; }));
    stats const now = read_stats();
    EXPECT_GE(now.stacks_cached + now.stacks_free, 100U);
  });
}

}  // namespace
}  // namespace thrum::rt
