// S10: the order of the search, on a scheduler that does not run. The Gs are only records: found, never run.
#include "sched/find_runnable.h"

#include "os/thread.h"
#include "support/bare_sched.h"
#include "support/fake_gs.h"
#include "support/slices.h"
#include "support/watchdog.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

using test::bare_sched;
using test::fake_gs;
using test::number_of;
using test::numbers;
using test::operator+;

// What the next `count` searches of P 0's M find.
std::vector<long> search(bare_sched& s, int count) {
  std::vector<long> order;
  for (int i = 0; i < count; ++i) order.push_back(static_cast<long>(find_runnable(s.m(0)).g->id));
  return order;
}

TEST(find_runnable, S10_runnext_then_the_run_queue_then_the_global_queue_then_stealing) {
  bare_sched s(2);
  fake_gs gs(10);
  static_cast<void>(s.p(0).queue.swap_next(test::push, gs.plain(0)));
  static_cast<void>(s.p(0).queue.put(test::push, gs.plain(1)));
  static_cast<void>(s.p(0).queue.put(test::push, gs.plain(2)));
  s.put_global(gs.plain(3));
  s.put_global(gs.plain(4));
  for (std::size_t i = 5; i < 8; ++i) static_cast<void>(s.p(1).queue.put(test::push, gs.plain(i)));
  static_cast<void>(s.p(1).queue.swap_next(test::push, gs.plain(8)));

  EXPECT_EQ(search(s, 3), numbers(0, 3)) << "local";
  EXPECT_EQ(s.p(0).counters.global_takes.load(relaxed), 0U);
  EXPECT_EQ(search(s, 2), numbers(3, 5)) << "global, 2/2 + 1 of them";
  EXPECT_EQ(s.p(0).counters.steals.load(relaxed), 0U);
  EXPECT_EQ(search(s, 2), (std::vector<long>{6, 5})) << "the older two of three, the last of them first";
  EXPECT_EQ(s.p(0).counters.steals.load(relaxed), 1U);
  EXPECT_EQ(s.p(0).counters.stolen.load(relaxed), 2U);
  EXPECT_EQ(search(s, 1), numbers(7, 8));
  EXPECT_EQ(s.p(1).queue.peek_next(), gs.plain(8)) << "runnext is left to its owner as long as there is anything else";
  EXPECT_EQ(search(s, 1), numbers(8, 9)) << "and taken in the last round";
}

TEST(find_runnable, S08_only_runnext_inherits_the_slice) {
  bare_sched s(2);
  fake_gs gs(4);
  static_cast<void>(s.p(0).queue.swap_next(test::push, gs.plain(0)));
  static_cast<void>(s.p(0).queue.put(test::push, gs.plain(1)));
  s.put_global(gs.plain(2));
  static_cast<void>(s.p(1).queue.put(test::push, gs.plain(3)));
  EXPECT_TRUE(find_runnable(s.m(0)).inherits_slice);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(find_runnable(s.m(0)).inherits_slice) << i;
}

TEST(find_runnable, S09_at_its_turn_the_global_queue_comes_first_with_exactly_one) {
  test::without_slices const uninterrupted;
  bare_sched s(1);
  fake_gs gs(6);
  static_cast<void>(s.p(0).queue.swap_next(test::push, gs.plain(0)));
  static_cast<void>(s.p(0).queue.put(test::push, gs.plain(1)));
  for (std::size_t i = 2; i < 6; ++i) s.put_global(gs.plain(i));
  s.p(0).ticks_to_global = 0;
  EXPECT_EQ(search(s, 1), numbers(2, 3));
  EXPECT_EQ(s->global_size.load(relaxed), 3U);
  s.p(0).tick();  // as the one that was found would do when it runs
  EXPECT_EQ(s.p(0).ticks_to_global, global_tick - 1);
  EXPECT_EQ(search(s, 2), numbers(0, 2)) << "then the local ones again";
}

TEST(find_runnable, S09_sixty_one_ticks_lie_between_two_turns) {
  test::without_slices const uninterrupted;
  bare_sched s(1);
  s.p(0).ticks_to_global = 0;
  s.p(0).tick();
  int between = 1;
  while (s.p(0).ticks_to_global != 0) {
    s.p(0).tick();
    ++between;
  }
  EXPECT_EQ(between, 61);
}

TEST(find_runnable, S09_the_turn_of_an_empty_global_queue_is_the_run_queue_s) {
  test::without_slices const uninterrupted;
  bare_sched s(1);
  fake_gs gs(1);
  s.p(0).ticks_to_global = 0;
  static_cast<void>(s.p(0).queue.put(test::push, gs.plain(0)));
  EXPECT_EQ(search(s, 1), numbers(0, 1));
}

TEST(find_runnable, S13_a_thief_counts_as_spinning_while_it_looks_and_not_afterwards) {
  bare_sched s(2);
  fake_gs gs(1);
  static_cast<void>(s.p(1).queue.put(test::push, gs.plain(0)));
  EXPECT_EQ(search(s, 1), numbers(0, 1));
  EXPECT_EQ(s.p(0).counters.spins.load(relaxed), 1U);
  EXPECT_EQ(s->idle.spinning(), 0);
  EXPECT_FALSE(s.m(0).spinning);
}

TEST(find_runnable, S13_a_spinner_that_finds_work_wakes_the_next) {
  bare_sched s(3);
  fake_gs gs(1);
  s.make_idle(2);
  static_cast<void>(s.p(1).queue.put(test::push, gs.plain(0)));
  EXPECT_EQ(search(s, 1), numbers(0, 1));
  EXPECT_TRUE(s.m(2).wake_note.is_woken());
  EXPECT_TRUE(s.m(2).spinning);
  EXPECT_EQ(s->idle.spinning(), 1) << "the one that was woken";
  EXPECT_EQ(s->idle.count(), 0);
}

TEST(find_runnable, S13_local_work_is_found_without_spinning_and_wakes_no_thread) {
  bare_sched s(2);
  fake_gs gs(2);
  s.make_idle(1);
  static_cast<void>(s.p(0).queue.put(test::push, gs.plain(0)));
  s.put_global(gs.plain(1));
  EXPECT_EQ(search(s, 2), numbers(0, 2));
  EXPECT_EQ(s.p(0).counters.spins.load(relaxed), 0U);
  EXPECT_FALSE(s.m(1).wake_note.is_woken());
}

TEST(find_runnable, T07_stale_entries_are_skipped_wherever_they_stand) {
  bare_sched s(2);
  fake_gs gs(8);
  static_cast<void>(s.p(0).queue.swap_next(test::push, gs.claimable(0)));
  static_cast<void>(s.p(0).queue.put(test::push, gs.claimable(1)));
  static_cast<void>(s.p(0).queue.put(test::push, gs.plain(2)));
  s.put_global(gs.claimable(3));
  s.put_global(gs.plain(4));
  static_cast<void>(s.p(1).queue.put(test::push, gs.plain(5)));
  static_cast<void>(s.p(1).queue.put(test::push, gs.claimable(6)));  // the last of the three that are stolen from five
  static_cast<void>(s.p(1).queue.put(test::push, gs.plain(7)));
  for (std::size_t const joined : {0U, 1U, 3U, 6U}) ASSERT_TRUE(claim(gs[joined]));
  EXPECT_EQ(search(s, 4), (std::vector<long>{2, 4, 5, 7}));
  for (std::size_t const joined : {0U, 1U, 3U, 6U}) {
    EXPECT_EQ(gs[joined].references.load(relaxed), 1U) << joined << ": the entry's reference is dropped";
  }
}

TEST(find_runnable, S10_the_thief_begins_at_a_random_victim) {
  constexpr int procs = 8;
  std::set<long> first_victims;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    bare_sched s(procs, run_queue_capacity_max, seed);
    fake_gs gs(procs);
    for (int i = 1; i < procs; ++i)
      static_cast<void>(s.p(i).queue.put(test::push, gs.plain(static_cast<std::size_t>(i))));
    first_victims.insert(search(s, 1).front());
  }
  EXPECT_EQ(first_victims.size(), 7U) << "each is first for some seed";
}

TEST(find_runnable, the_seed_decides_the_order_of_stealing) {
  auto const order = [](std::uint64_t seed) {
    bare_sched s(16, run_queue_capacity_max, seed);
    fake_gs gs(16);
    for (int i = 1; i < 16; ++i) static_cast<void>(s.p(i).queue.put(test::push, gs.plain(static_cast<std::size_t>(i))));
    return search(s, 15);
  };
  EXPECT_EQ(order(42), order(42));
  EXPECT_NE(order(42), order(43));
}

// The right column of wake.h. A thief does not take the victim's runnext while goroutines keep running there. So the
// thief finds nothing, gives its P up, sees on its last look that there is work, and takes a P back. Without the last
// look it would sleep here for ever, and the watchdog would report it.
TEST(find_runnable, S10_S13_an_m_that_gave_its_p_up_looks_at_every_queue_once_more) {
  test::start_watchdog();
  bool looked_again = false;
  for (int round = 0; round < 10'000 && !looked_again; ++round) {
    bare_sched s(2);
    fake_gs gs(1);
    static_cast<void>(s.p(1).queue.swap_next(test::push, gs.plain(0)));
    atomic<bool> over{false};
    std::thread busy([&] {
      while (!over.load(relaxed) && s.p(0).counters.spins.load(relaxed) < 3) count(s.p(1).counters.switches_direct);
    });
    while (s.p(1).counters.switches_direct.load(relaxed) == 0) os::yield_thread();  // it is on a CPU now
    EXPECT_EQ(search(s, 1), numbers(0, 1));
    over.store(true, relaxed);
    busy.join();
    looked_again = s.p(0).counters.spins.load(relaxed) > 1;
    EXPECT_EQ(s->idle.spinning(), 0);
    EXPECT_EQ(s->idle.count(), 0);
    EXPECT_EQ(s.m(0).p, &s.p(0));
  }
  EXPECT_TRUE(looked_again);
}

TEST(find_runnable, S10_a_run_that_is_over_ends_the_search) {
  bare_sched s(2);
  {
    os::lock_guard const guard(s->lock);
    ASSERT_TRUE(s->end.begin());
  }
  EXPECT_EQ(find_runnable(s.m(0)).g, nullptr);
  s.p(1).attention.fetch_or(attend::stopping, relaxed);
  fake_gs gs(1);
  static_cast<void>(s.p(1).queue.put(test::push, gs.plain(0)));
  EXPECT_EQ(find_runnable(s.m(1)).g, nullptr) << "even beside work";
}

}  // namespace
}  // namespace thrum::rt
