// A P's timers and the records in them: what is due, what is dead, and that no record is lost or given back too early.
#include "core/p_timers.h"

#include "base/heuristics.h"
#include "base/random.h"
#include "core/g.h"
#include "support/fake_gs.h"
#include "support/scale.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

constexpr std::uint32_t epoch = 3;

void never_fires(timer_record&, M&, std::int64_t) noexcept {}

timer_record& new_record() { return *take_timer_record(never_fires, nullptr); }

added_as arm(p_timers& timers, timer_record& r, std::int64_t when_ns) {
  EXPECT_TRUE(timers.reserve(1));
  os::lock_guard const guard(r.lock);
  return timers.arm(r, when_ns, epoch);
}

// As sched/timers.cpp's stop_locked.
void stop(timer_record& r) {
  os::lock_guard const guard(r.lock);
  r.armed_in = 0;
  if (p_timers* const heap = r.in.load(relaxed)) heap->forget(r);
}

struct due {
  timer_entry entries[8];
  std::uint32_t count;
};
due take(p_timers& timers, std::int64_t now_ns, std::uint32_t limit = 8) {
  due result{};
  result.count = timers.take_due(now_ns, result.entries, limit);
  return result;
}

void expect_sizes(p_timers& timers, std::uint32_t entries, std::uint32_t dead) {
  auto const sizes = timers.count();
  EXPECT_EQ(sizes.entries, entries);
  EXPECT_EQ(sizes.dead, dead);
}

TEST(p_timers, S27_what_is_due_is_taken_in_order_and_no_more_than_asked_for) {
  p_timers timers;
  test::fake_gs gs(5);
  EXPECT_FALSE(timers.any());
  EXPECT_EQ(timers.next_when(), never_ns);
  ASSERT_TRUE(timers.reserve(5));
  EXPECT_EQ(timers.add(gs[0], 30), added_as::first);
  EXPECT_EQ(timers.add(gs[1], 40), added_as::later);
  EXPECT_EQ(timers.add(gs[2], 10), added_as::first);
  EXPECT_EQ(timers.add(gs[3], 20), added_as::later);
  EXPECT_EQ(timers.add(gs[4], 50), added_as::later);
  EXPECT_EQ(timers.next_when(), 10);
  EXPECT_EQ(take(timers, 9).count, 0U);
  due const two = take(timers, 45, 2);
  ASSERT_EQ(two.count, 2U);
  EXPECT_EQ(&two.entries[0].sleeper(), &gs[2]);
  EXPECT_EQ(&two.entries[1].sleeper(), &gs[3]);
  EXPECT_EQ(timers.next_when(), 30);
  due const rest = take(timers, 45);
  ASSERT_EQ(rest.count, 2U);
  EXPECT_EQ(&rest.entries[0].sleeper(), &gs[0]);
  EXPECT_EQ(&rest.entries[1].sleeper(), &gs[1]);
  EXPECT_EQ(timers.next_when(), 50);
  EXPECT_EQ(take(timers, 50).count, 1U) << "due at its very time";
  EXPECT_FALSE(timers.any());
}

TEST(p_timers, S27_a_stopped_timer_is_never_due_and_what_comes_next_is_known_at_once) {
  p_timers timers;
  timer_record& a = new_record();
  timer_record& b = new_record();
  timer_record& c = new_record();
  arm(timers, a, 10);
  arm(timers, b, 20);
  arm(timers, c, 30);
  stop(b);
  EXPECT_EQ(timers.next_when(), 10);
  expect_sizes(timers, 3, 1);
  stop(a);
  EXPECT_EQ(timers.next_when(), 30) << "the dead at the top are gone";
  expect_sizes(timers, 1, 0);
  stop(c);
  EXPECT_EQ(timers.next_when(), never_ns) << "nothing is pending";
  expect_sizes(timers, 0, 0);
  EXPECT_EQ(take(timers, 1000).count, 0U);
  for (timer_record* const r : {&a, &b, &c}) {
    EXPECT_EQ(r->references.load(relaxed), 1U);
    drop_reference(*r);
  }
}

TEST(p_timers, S27_an_earlier_time_takes_a_new_entry_a_later_one_keeps_the_old) {
  p_timers timers;
  test::fake_gs gs(1);
  timer_record& r = new_record();
  EXPECT_EQ(arm(timers, r, 50), added_as::first);
  EXPECT_EQ(arm(timers, r, 80), added_as::later);
  expect_sizes(timers, 1, 0);
  EXPECT_EQ(r.queued_ns, 50) << "it surfaces then, and is put back";
  EXPECT_EQ(r.when_ns, 80);
  EXPECT_EQ(arm(timers, r, 60), added_as::later);
  expect_sizes(timers, 1, 0);
  ASSERT_TRUE(timers.reserve(1));
  timers.add(gs[0], 30);  // so that the old entry does not surface at once
  EXPECT_EQ(arm(timers, r, 20), added_as::first);
  EXPECT_EQ(r.queued_ns, 20);
  expect_sizes(timers, 3, 1);
  due const both = take(timers, 100);
  ASSERT_EQ(both.count, 2U) << "the old entry is dropped on the way";
  EXPECT_EQ(&both.entries[0].record(), &r);
  EXPECT_EQ(r.in.load(relaxed), nullptr);
  EXPECT_EQ(r.references.load(relaxed), 2U) << "the owner's, and the one that came with the entry";
  expect_sizes(timers, 0, 0);
  drop_reference(r);
  drop_reference(r);
}

// As for a P that is removed. Entries that are dead are dropped, and the first time is right all along.
TEST(p_timers, S21_a_timer_that_was_set_to_a_later_time_or_stopped_is_not_due_although_its_entry_is) {
  p_timers timers;
  test::fake_gs gs(1);
  timer_record& later = new_record();
  timer_record& stopped = new_record();
  arm(timers, later, 10);
  arm(timers, stopped, 20);
  EXPECT_TRUE(timers.has_due(10, epoch));
  EXPECT_FALSE(timers.has_due(10, epoch + 1)) << "armed in another run";
  arm(timers, later, 100);
  EXPECT_EQ(timers.next_when(), 10);
  EXPECT_FALSE(timers.has_due(19, epoch));
  EXPECT_TRUE(timers.has_due(20, epoch));
  stop(stopped);
  EXPECT_FALSE(timers.has_due(99, epoch));
  EXPECT_TRUE(timers.has_due(100, epoch));
  stop(later);
  EXPECT_FALSE(timers.has_due(never_ns, epoch));
  ASSERT_TRUE(timers.reserve(1));
  timers.add(gs[0], 200);
  EXPECT_FALSE(timers.has_due(199, epoch));
  EXPECT_TRUE(timers.has_due(200, epoch));
  EXPECT_EQ(take(timers, never_ns).count, 1U);
  drop_reference(later);
  drop_reference(stopped);
}

TEST(p_timers, S23_a_heap_is_emptied_in_any_order) {
  constexpr int timers_in_all = 1000;
  p_timers timers;
  test::fake_gs gs(1);
  ASSERT_TRUE(timers.reserve(1));
  EXPECT_EQ(timers.add(gs[0], 1), added_as::first);
  std::vector<timer_record*> records;
  for (int i = 0; i < timers_in_all; ++i) {
    records.push_back(&new_record());
    static_cast<void>(arm(timers, *records.back(), 10 + (i * 7919) % timers_in_all));
  }
  for (int i = 0; i < timers_in_all; i += 10) stop(*records[static_cast<std::size_t>(i)]);
  int left = timers_in_all - timers_in_all / 10 + 1;
  bool found_sleeper = false;
  timer_entry taken[7];
  while (std::uint32_t const count = timers.take_any_of(taken, 7)) {
    left -= static_cast<int>(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!taken[i].is_record()) {
        found_sleeper = true;
        continue;
      }
      EXPECT_EQ(taken[i].record().in.load(relaxed), nullptr);
      EXPECT_EQ(taken[i].record().armed_in, epoch) << "it was stopped";
      drop_reference(taken[i].record());
    }
    EXPECT_EQ(timers.next_when(), left == 0 ? never_ns : 1) << "the first entry is taken last";
  }
  EXPECT_TRUE(found_sleeper);
  EXPECT_EQ(left, 0);
  expect_sizes(timers, 0, 0);
  for (timer_record* const r : records) drop_reference(*r);
}

TEST(p_timers, S27_a_timer_moves_to_the_heap_of_the_p_that_sets_it_earlier) {
  p_timers one;
  p_timers other;
  timer_record& r = new_record();
  arm(one, r, 50);
  EXPECT_EQ(arm(other, r, 70), added_as::later) << "later: it stays where it is";
  EXPECT_EQ(r.in.load(relaxed), &one);
  EXPECT_EQ(arm(other, r, 40), added_as::first);
  EXPECT_EQ(r.in.load(relaxed), &other);
  EXPECT_EQ(one.next_when(), never_ns);
  EXPECT_EQ(take(one, 100).count, 0U);
  EXPECT_EQ(take(other, 100).count, 1U);
  drop_reference(r);
  drop_reference(r);
}

TEST(p_timers, S27_two_entries_of_one_record_at_the_same_time_fire_it_once) {
  p_timers timers;
  test::fake_gs gs(1);
  timer_record& r = new_record();
  ASSERT_TRUE(timers.reserve(1));
  timers.add(gs[0], 40);
  arm(timers, r, 50);
  arm(timers, r, 20);
  ASSERT_EQ(take(timers, 30).count, 1U);
  drop_reference(r);
  arm(timers, r, 50);  // beside the dead entry of the same time
  expect_sizes(timers, 3, 1);
  EXPECT_EQ(take(timers, 60).count, 2U) << "the sleeper, and the record once";
  expect_sizes(timers, 0, 0);
  EXPECT_EQ(r.references.load(relaxed), 2U);
  drop_reference(r);
  drop_reference(r);
}

TEST(p_timers, TM14_what_is_armed_and_stopped_over_and_over_takes_no_room) {
  p_timers timers;
  test::fake_gs gs(1000);
  ASSERT_TRUE(timers.reserve(1000));
  for (std::size_t i = 0; i < 1000; ++i) timers.add(gs[i], static_cast<std::int64_t>(i));
  std::uint32_t entries_max = 0;
  for (int i = 0; i < 20'000; ++i) {
    timer_record& r = new_record();
    arm(timers, r, 1'000'000 + i);
    stop(r);
    drop_reference(r);
    entries_max = std::max(entries_max, timers.count().entries);
  }
  EXPECT_LE(entries_max, 1400U) << "a quarter of the heap is dead at most";
  EXPECT_EQ(timers.next_when(), 0);
}

// What one stop does under the heap's lock is bounded, however many timers there are and however many of them are dead.
TEST(p_timers, a_stop_among_many_timers_drops_a_few_dead_ones_at_a_time) {
  constexpr std::size_t count = 100'000;
  constexpr std::uint32_t dropped_max = 2 * timer_sweep_step;  // in the sweep, and at the top
  p_timers timers;
  random_source random(11);
  std::vector<timer_record*> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    all[i] = &new_record();
    arm(timers, *all[i], 1'000 + random.below(1'000'000'000));
  }
  for (std::size_t i = count - 1; i > 0; --i) std::swap(all[i], all[random.below(static_cast<std::uint32_t>(i + 1))]);
  for (timer_record* const r : all) {
    auto const before = timers.count();
    stop(*r);
    drop_reference(*r);
    auto const after = timers.count();
    if (before.entries <= timer_sweep_whole_max) continue;
    ASSERT_LE(before.entries - after.entries, dropped_max);
    bool const is_bounded = after.entries < 10'000 || after.dead <= after.entries / 4;
    ASSERT_TRUE(is_bounded) << after.dead << " dead of " << after.entries;
  }
  EXPECT_EQ(timers.next_when(), never_ns) << "nothing is pending";
  EXPECT_EQ(timers.take_any(), nullptr);
  expect_sizes(timers, 0, 0);
}

// The first to go off is alive, and so many that come after it are dead that no single call drops them all.
TEST(p_timers, many_dead_timers_before_the_next_live_one_make_it_known_too_early_at_most) {
  constexpr std::int64_t dead = 10'000;
  constexpr std::int64_t alive = 100'000;
  p_timers timers;
  test::fake_gs gs(static_cast<std::size_t>(alive) + 1);
  ASSERT_TRUE(timers.reserve(static_cast<std::uint32_t>(alive) + 1));
  timers.add(gs[0], 1);
  for (std::int64_t i = 0; i < alive; ++i) timers.add(gs[static_cast<std::size_t>(i) + 1], 1'000'000);
  for (std::int64_t i = 0; i < dead; ++i) {
    timer_record& r = new_record();
    arm(timers, r, 1'000 + i);
    stop(r);
    drop_reference(r);
  }
  EXPECT_EQ(timers.count().dead, static_cast<std::uint32_t>(dead)) << "too few to be swept";
  EXPECT_EQ(take(timers, 1).count, 1U);
  for (int looks = 0; timers.next_when() != 1'000'000; ++looks) {
    ASSERT_LE(timers.next_when(), 1'000'000) << "never too late";
    ASSERT_LT(looks, 20) << "each look drops some";
    ASSERT_EQ(take(timers, timers.next_when()).count, 0U) << "what is dead is not due";
  }
  expect_sizes(timers, static_cast<std::uint32_t>(alive), 0);
  EXPECT_EQ(take(timers, 1'000'000).count, 8U);
}

TEST(p_timers, S27_a_record_that_was_let_go_is_used_again_once_no_entry_names_it) {
  p_timers timers;
  timer_record& blocker = new_record();  // keeps the dead entry from the top
  arm(timers, blocker, 10);
  timer_record* const r = &new_record();
  arm(timers, *r, 50);
  stop(*r);
  drop_reference(*r);
  timer_record& another = new_record();
  EXPECT_NE(&another, r) << "its dead entry still names it";
  EXPECT_EQ(take(timers, 100).count, 1U);
  timer_record& again = new_record();
  EXPECT_EQ(&again, r) << "the entry has surfaced: last in, first out";
  drop_reference(blocker);
  for (timer_record* const one : {&blocker, &another, &again}) drop_reference(*one);
}

TEST(p_timers, T12_the_end_of_a_run_takes_all_entries_out) {
  timer_record& survivor = new_record();
  timer_record& stopped = new_record();
  {
    p_timers timers;
    test::fake_gs gs(1);
    ASSERT_TRUE(timers.reserve(1));
    timers.add(gs[0], 5);
    arm(timers, stopped, 60);
    arm(timers, survivor, 50);
    arm(timers, survivor, 40);
    stop(stopped);
    EXPECT_EQ(timers.take_any(), &survivor);
    drop_reference(survivor);
    EXPECT_EQ(timers.take_any(), nullptr);
    expect_sizes(timers, 0, 0);
    EXPECT_EQ(timers.next_when(), never_ns);
  }
  for (timer_record* const r : {&survivor, &stopped}) {
    EXPECT_EQ(r->in.load(relaxed), nullptr);
    EXPECT_EQ(r->references.load(relaxed), 1U);
    drop_reference(*r);
  }
}

// Random sequences of settings on several heaps, compared with a plain model that knows which timers are armed, and for
// when. There are few timers, or so many that heaps are swept bit by bit.
class p_timers_model : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(of, p_timers_model, testing::Values(50U, 5'000U));

TEST_P(p_timers_model, S27_random_settings_agree) {
  std::uint32_t const count = GetParam();
  random_source random(7);
  p_timers heaps[3];
  struct model {
    timer_record* r;
    std::int64_t when = never_ns;
  };
  std::vector<model> all(count);
  for (model& one : all) one.r = &new_record();
  std::int64_t now = 0;
  std::int64_t const rounds = test::scaled(200'000, 2'000);
  for (std::int64_t round = 0; round < rounds; ++round) {
    model& one = all[random.below(count)];
    p_timers& heap = heaps[random.below(3)];
    switch (random.below(4)) {
      case 0:
      case 1:
        one.when = now + random.below(1000);
        arm(heap, *one.r, one.when);
        break;
      case 2:
        one.when = never_ns;
        stop(*one.r);
        break;
      default:
        now += random.below(20);
        due const some = take(heap, now);
        for (std::uint32_t i = 0; i < some.count; ++i) {
          timer_record& r = some.entries[i].record();
          ASSERT_NE(r.armed_in, 0U);
          auto const owner = std::find_if(all.begin(), all.end(), [&](model const& m) { return m.r == &r; });
          ASSERT_EQ(owner->when, r.when_ns);
          if (r.when_ns <= now) {
            r.armed_in = 0;
            owner->when = never_ns;
          } else {
            ASSERT_TRUE(heap.reserve(1));
            heap.add(r);
          }
          drop_reference(r);
        }
    }
  }
  for (model& one : all) stop(*one.r);
  for (p_timers& heap : heaps) {
    EXPECT_EQ(heap.next_when(), never_ns);
    EXPECT_EQ(heap.take_any(), nullptr) << "all that is left is dead";
  }
  for (model& one : all) {
    EXPECT_EQ(one.r->references.load(relaxed), 1U);
    drop_reference(*one.r);
  }
}

}  // namespace
}  // namespace thrum::rt
