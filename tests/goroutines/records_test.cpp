// Dead Gs, sudogs and ids: a P's own cache, and its exchange of halves with the runtime's.
#include "sched/records.h"

#include "os/fault.h"
#include "support/bare_sched.h"

#include <cerrno>
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

using test::bare_sched;

std::vector<G*> take_gs(P& p, std::size_t count) {
  std::vector<G*> gs;
  for (std::size_t i = 0; i < count; ++i) gs.push_back(take_dead_g(p));
  return gs;
}

TEST(dead_gs, S06_the_last_to_die_is_the_first_to_be_used_again) {
  bare_sched s(1);
  auto const gs = take_gs(s.p(0), 2);
  put_dead_g(s.p(0), *gs[0]);
  put_dead_g(s.p(0), *gs[1]);
  EXPECT_EQ(take_dead_g(s.p(0)), gs[1]);
  EXPECT_EQ(take_dead_g(s.p(0)), gs[0]);
}

TEST(dead_gs, S30_a_new_record_is_dead) {
  bare_sched s(1);
  EXPECT_EQ(take_dead_g(s.p(0))->status.load(relaxed), g_status::dead);
}

TEST(dead_gs, SC_26_a_p_keeps_at_most_64_and_sends_32_on) {
  bare_sched s(1);
  auto const gs = take_gs(s.p(0), 200);
  while (s.p(0).free_g_count > 0) static_cast<void>(take_dead_g(s.p(0)));  // the rest of the batch
  std::uint32_t const global_before = s->records.gs_dead();
  for (std::size_t i = 0; i < 64; ++i) put_dead_g(s.p(0), *gs[i]);
  EXPECT_EQ(s.p(0).free_g_count, 64U);
  EXPECT_EQ(s->records.gs_dead(), global_before);
  put_dead_g(s.p(0), *gs[64]);
  EXPECT_EQ(s.p(0).free_g_count, 33U);
  EXPECT_EQ(s->records.gs_dead(), global_before + 32);
}

TEST(dead_gs, SC_26_an_empty_cache_takes_at_most_32_from_the_global_list) {
  bare_sched s(2);
  auto const gs = take_gs(s.p(0), 320);
  for (G* const g : gs) put_dead_g(s.p(0), *g);
  std::uint32_t const before = s->records.gs_dead();
  ASSERT_GE(before, 100U);
  std::uint32_t const made = s->records.gs_made();
  G* const first = take_dead_g(s.p(1));
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(s.p(1).free_g_count, 31U);
  EXPECT_EQ(s->records.gs_dead(), before - 32);
  EXPECT_EQ(s->records.gs_made(), made) << "none is made while others lie idle";
}

TEST(dead_gs, S06_every_record_is_handed_out_once) {
  bare_sched s(2);
  std::set<G*> out;
  for (int i = 0; i < 5000; ++i) {
    G* const g = take_dead_g(s.p(i % 2));
    ASSERT_NE(g, nullptr);
    ASSERT_TRUE(out.insert(g).second);
  }
  for (G* const g : out) put_dead_g(s.p(0), *g);
  std::uint32_t const made = s->records.gs_made();
  std::set<G*> again;
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(again.insert(take_dead_g(s.p(i % 2))).second);
  EXPECT_LE(s->records.gs_made(), made + 64) << "what had died was used again";
}

TEST(dead_gs, without_memory_there_is_none_and_later_there_is) {
  bare_sched s(1);
  os::inject_fault(os::call::mmap, ENOMEM, 0, os::fault_for_good);
  EXPECT_EQ(take_dead_g(s.p(0)), nullptr);
  os::clear_faults();
  EXPECT_NE(take_dead_g(s.p(0)), nullptr);
}

TEST(dead_gs, T07_the_last_reference_recycles_the_record) {
  bare_sched s(1);
  G* const g = take_dead_g(s.p(0));
  std::uint32_t const before = s.p(0).free_g_count;
  g->references.store(2, relaxed);
  drop_reference(s.p(0), *g);
  EXPECT_EQ(s.p(0).free_g_count, before);
  drop_reference(s.p(0), *g);
  EXPECT_EQ(s.p(0).free_g_count, before + 1);
}

// --- sudogs (S26) ---

std::vector<sudog*> take_sudogs(P& p, std::size_t count) {
  std::vector<sudog*> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(take_sudog(p));
  return all;
}

TEST(sudogs, S26_a_p_keeps_at_most_128_and_gives_half_of_them_away) {
  bare_sched s(1);
  auto const all = take_sudogs(s.p(0), 129);
  for (std::size_t i = 0; i < 128; ++i) put_sudog(s.p(0), all[i]);
  EXPECT_EQ(s.p(0).sudogs.size(), 128U);
  EXPECT_EQ(s->records.sudogs_free(), 0U);
  put_sudog(s.p(0), all[128]);
  EXPECT_EQ(s.p(0).sudogs.size(), 64U);
  EXPECT_EQ(s->records.sudogs_free(), 65U);
}

TEST(sudogs, S26_an_empty_cache_is_filled_with_half_from_the_global_pool) {
  bare_sched s(2);
  for (sudog* const one : take_sudogs(s.p(0), 300)) put_sudog(s.p(0), one);
  std::uint32_t const before = s->records.sudogs_free();
  ASSERT_GE(before, 64U);
  EXPECT_NE(take_sudog(s.p(1)), nullptr);
  EXPECT_EQ(s.p(1).sudogs.size(), 63U);
  EXPECT_EQ(s->records.sudogs_free(), before - 64);
}

TEST(sudogs, S26_one_that_comes_back_is_clean) {
  bare_sched s(1);
  test::fake_gs gs(1);
  sudog* const one = take_sudog(s.p(0));
  one->g = &gs[0];
  one->handed_over = true;
  put_sudog(s.p(0), one);
  EXPECT_EQ(take_sudog(s.p(0)), one);
  EXPECT_EQ(one->g, nullptr);
  EXPECT_FALSE(one->handed_over);
}

TEST(sudogs, without_memory_there_is_none_and_later_there_is) {
  bare_sched s(1);
  os::inject_fault(os::call::mmap, ENOMEM);
  EXPECT_EQ(take_sudog(s.p(0)), nullptr);
  EXPECT_NE(take_sudog(s.p(0)), nullptr);
  os::clear_faults();
}

// --- ids ---

TEST(goroutine_ids, S01_they_begin_with_1_and_never_repeat) {
  bare_sched s(3);
  EXPECT_EQ(next_goroutine_id(s.p(0)), 1U);
  std::set<std::uint64_t> seen{1};
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(seen.insert(next_goroutine_id(s.p(i % 3))).second);
  EXPECT_EQ(*seen.begin(), 1U);
}

TEST(goroutine_ids, a_p_takes_16_at_a_time) {
  bare_sched s(2);
  EXPECT_EQ(next_goroutine_id(s.p(0)), 1U);
  EXPECT_EQ(next_goroutine_id(s.p(1)), 17U);
  EXPECT_EQ(next_goroutine_id(s.p(0)), 2U);
}

}  // namespace
}  // namespace thrum::rt
