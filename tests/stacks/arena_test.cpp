#include "stack/arena.h"

#include "base/limits.h"
#include "os/fault.h"
#include "os/memory.h"
#include "stack/registry.h"
#include "stacks/mappings.h"

#include <cerrno>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

TEST(stack_geometry, S29_stride_is_odd_in_pages_and_holds_stack_join_reserve_and_guard) {
  for (std::size_t const page : {4096UL, 16384UL, 65536UL}) {
    for (std::size_t size = stack_size_min; size <= stack_size_max; size = size * 2 + 4096) {
      slot_geometry const geometry = slot_geometry::for_size(size, page);
      EXPECT_EQ(geometry.stride % page, 0U);
      EXPECT_EQ(geometry.stride / page % 2, 1U);
      EXPECT_EQ(geometry.guard_bytes % page, 0U);
      EXPECT_GE(geometry.guard_bytes, stack_guard_bytes);
      std::size_t const top = sizeof(stack) + (stagger_steps - 1) * cache_line_bytes;
      EXPECT_GE(geometry.stride, geometry.guard_bytes + size + stack_join_reserve_bytes + top);
      EXPECT_LE(geometry.stride, geometry.guard_bytes + size + stack_join_reserve_bytes + top + 2 * page);
    }
  }
}

TEST(stack_arena, S29_tops_are_staggered_by_a_line_per_slot_within_their_page) {
  arena* const owner = create_arena(slot_geometry::for_size(stack_size_min, os::page_size()), 33);
  ASSERT_NE(owner, nullptr);
  std::set<std::size_t> offsets;
  for (std::uint32_t slot = 0; slot < 33; ++slot) {
    auto* const top = reinterpret_cast<char*>(owner->descriptor(slot));
    auto const below_end = static_cast<std::size_t>(owner->slot_end(slot) - top);
    EXPECT_EQ(below_end, sizeof(stack) + slot % 16 * 64);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(top) % 64, 0U);
    offsets.insert(below_end);
  }
  EXPECT_EQ(offsets.size(), 16U);
  destroy_arena(owner);
}

TEST(stack_arena, made_stack_knows_its_bounds_its_slot_and_its_arena) {
  arena* const owner = create_arena(slot_geometry::for_size(stack_size_default, os::page_size()), 4);
  ASSERT_NE(owner, nullptr);
  for (std::uint32_t slot = 0; slot < 4; ++slot) {
    stack* const made = make_stack(*owner, slot, stack_size_default);
    EXPECT_EQ(made->top, reinterpret_cast<char*>(made));
    EXPECT_EQ(made->low, owner->slot_low(slot));
    EXPECT_GE(static_cast<std::size_t>(made->top - made->low), stack_size_default + stack_join_reserve_bytes);
    EXPECT_EQ(made->goroutine_id, 0U);
    EXPECT_EQ(slot_of(*made), slot);
    EXPECT_EQ(&arena_of(*made), owner);
    owner->carved.store(slot + 1, relaxed);
  }
  destroy_arena(owner);
}

TEST(stack_arena, cold_slots_are_found_again_each_once) {
  arena* const owner = create_arena(slot_geometry::for_size(stack_size_min, os::page_size()), 200);
  ASSERT_NE(owner, nullptr);
  std::set<std::uint32_t> const cold{0, 1, 63, 64, 130, 199};
  for (std::uint32_t const slot : cold) owner->mark_cold(slot);
  EXPECT_TRUE(owner->is_cold(63));
  EXPECT_FALSE(owner->is_cold(62));
  std::set<std::uint32_t> taken;
  while (owner->cold_count > 0) taken.insert(owner->take_cold());
  EXPECT_EQ(taken, cold);
  EXPECT_FALSE(owner->is_cold(63));
  destroy_arena(owner);
}

TEST(stack_registry, address_finds_its_arena_and_the_neighbourhood_none) {
  arena* const owner = create_arena(slot_geometry::for_size(stack_size_min, os::page_size()), 8);
  ASSERT_NE(owner, nullptr);
  auto* const begin = reinterpret_cast<char*>(owner);
  EXPECT_EQ(arena_by_address(begin), owner);
  EXPECT_EQ(arena_by_address(owner->end - 1), owner);
  EXPECT_NE(arena_by_address(begin - 1), owner);
  EXPECT_NE(arena_by_address(owner->end), owner);
  int local = 0;
  EXPECT_EQ(arena_by_address(reinterpret_cast<char*>(&local)), nullptr);
  EXPECT_EQ(arena_by_address(nullptr), nullptr);
  destroy_arena(owner);
  EXPECT_EQ(arena_by_address(begin), nullptr);
}

TEST(stack_registry, numbers_of_dead_arenas_are_used_again) {
  slot_geometry const geometry = slot_geometry::for_size(stack_size_min, os::page_size());
  std::vector<arena*> arenas;
  for (int i = 0; i < 20; ++i) {
    arenas.push_back(create_arena(geometry, 1));
    ASSERT_NE(arenas.back(), nullptr);
  }
  std::uint32_t const number = arenas[7]->number;
  destroy_arena(arenas[7]);
  EXPECT_EQ(arena_by_number(number), nullptr);
  arenas[7] = create_arena(geometry, 1);
  ASSERT_NE(arenas[7], nullptr);
  EXPECT_EQ(arenas[7]->number, number);
  EXPECT_EQ(arena_by_number(number), arenas[7]);
  for (arena* const each : arenas) destroy_arena(each);
}

TEST(stack_registry, more_arenas_than_one_chunk_holds) {
  slot_geometry const geometry = slot_geometry::for_size(stack_size_min, os::page_size());
  std::vector<arena*> arenas;
  for (std::uint32_t i = 0; i < registry_chunk_entries + 10; ++i) {
    arenas.push_back(create_arena(geometry, 1));
    ASSERT_NE(arenas.back(), nullptr);
  }
  EXPECT_GE(arenas.back()->number, registry_chunk_entries);
  EXPECT_EQ(arena_by_address(arenas.back()->first_slot), arenas.back());
  for (arena* const each : arenas) destroy_arena(each);
}

}  // namespace
}  // namespace thrum::rt
