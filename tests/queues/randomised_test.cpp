// S07, S08: the randomised mode (THRUM_DEBUG=randomize=1), on a scheduler that does not run. Goroutines that are put
// into a queue, overflow or are injected come out in an order that depends only on the seed.
#include "sched/queues.h"
#include "sched/runnable.h"
#include "support/bare_sched.h"
#include "support/fake_gs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

using test::bare_sched;
using test::fake_gs;
using test::number_of;
using test::numbers;

settings randomised(int procs, std::uint64_t seed) {
  return {.procs = procs, .detect_deadlock = false, .seed = seed, .randomize = true};
}

// For each of so many puts into an empty queue: did it go to runnext?
std::vector<bool> where_puts_go(std::uint64_t seed, std::size_t count) {
  bare_sched s(randomised(1, seed));
  fake_gs gs(count);
  std::vector<bool> next;
  for (std::size_t i = 0; i < count; ++i) {
    bool const says_an_m_can_be_woken = put_next(test::push, s.p(0), gs.plain(i));
    entry const in_next = s.p(0).queue.take_next();
    entry const in_run_queue = s.p(0).queue.pop();
    EXPECT_NE(static_cast<bool>(in_next), static_cast<bool>(in_run_queue)) << "in one of them";
    EXPECT_EQ(says_an_m_can_be_woken, static_cast<bool>(in_run_queue))
        << "others may take it from the run queue at once";
    EXPECT_EQ(number_of(in_next ? in_next : in_run_queue), static_cast<long>(i));
    next.push_back(static_cast<bool>(in_next));
  }
  return next;
}

TEST(randomised, S08_in_the_randomised_mode_half_of_the_puts_go_to_the_tail) {
  auto const next = where_puts_go(7, 10'000);
  auto const count = std::count(next.begin(), next.end(), true);
  EXPECT_GT(count, 4'700);
  EXPECT_LT(count, 5'300);
}

TEST(randomised, S08_in_the_randomised_mode_the_seed_repeats_it) {
  EXPECT_EQ(where_puts_go(7, 1000), where_puts_go(7, 1000));
  EXPECT_NE(where_puts_go(7, 1000), where_puts_go(8, 1000));
}

std::vector<long> overflown(std::uint64_t seed) {
  bare_sched s(randomised(1, seed));
  fake_gs gs(257);
  for (std::size_t i = 0; i < 257; ++i) put_tail(test::push, s.p(0), gs.plain(i));
  EXPECT_EQ(s.drain_run_queue(0), numbers(128, 256)) << "the younger half stays, in order";
  return s.drain_global();
}

TEST(randomised, S07_in_the_randomised_mode_the_batch_that_overflows_is_shuffled) {
  auto all = overflown(7);
  EXPECT_EQ(overflown(7), all) << "the seed repeats it";
  EXPECT_NE(overflown(8), all);
  EXPECT_FALSE(std::is_sorted(all.begin(), all.end()));
  std::sort(all.begin(), all.end());
  auto expected = numbers(0, 128);
  expected.push_back(256);
  EXPECT_EQ(all, expected) << "the older half and the newcomer, none twice";
}

enum class injected_by : bool { an_m, sysmon };

std::vector<long> injected(injected_by whom, std::size_t count) {
  bare_sched s(randomised(1, 7));
  fake_gs gs(count);
  g_list list;
  for (std::size_t i = 0; i < count; ++i) list.push_back(gs[i]);
  inject(*s, whom == injected_by::an_m ? &s.m(0) : nullptr, list);
  EXPECT_TRUE(list.empty());
  return whom == injected_by::an_m ? s.drain_run_queue(0) : s.drain_global();
}

TEST(randomised, S07_S39_in_the_randomised_mode_an_injected_batch_is_shuffled) {
  for (auto const whom : {injected_by::an_m, injected_by::sysmon}) {
    auto all = injected(whom, 200);
    EXPECT_EQ(injected(whom, 200), all) << "the seed repeats it";
    EXPECT_FALSE(std::is_sorted(all.begin(), all.end()));
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, numbers(0, 200));
  }
}

}  // namespace
}  // namespace thrum::rt
