// An arena: one reservation of many equal slots, with its record in its first page.
//
// Only pages that are touched cost memory: the record's, and the top page of each slot that was carved. One
// arena is one memory mapping for the kernel, and neighbours merge, so that a million stacks need some
// hundred mappings.
//
// The stride of the slots is an odd number of pages: the tops of consecutive stacks then walk through all
// sets of a cache that is indexed by more bits than a page has. Within its page the top moves down by a line
// from slot to slot (16 steps): a cache indexed by the page's bits alone would otherwise hold the hot end of
// a thousand stacks in a handful of sets.
//
// The registry (stack/registry.h) numbers the arenas, so that a stack finds its arena by the 32 bits of
// stack::slot.
#pragma once

#include "base/atomic.h"
#include "stack/stack.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace thrum::rt {

inline constexpr std::uint32_t arena_slot_bits = 12;
inline constexpr std::uint32_t arena_slots_max = 1U << arena_slot_bits;  // 1.8 GiB of default stacks
// 28 MiB of address space for a program with few goroutines; each next arena has twice as many slots
inline constexpr std::uint32_t arena_slots_first = 64;
inline constexpr std::size_t arena_bytes_max = 2UL << 30U;  // for large stacks, unless one slot is more
inline constexpr std::uint32_t stagger_steps = 16;          // 16 lines: a quarter of a 4 KiB page at most

struct slot_geometry {
  std::size_t stride = 0;       // an odd number of pages
  std::size_t guard_bytes = 0;  // at the low end

  [[nodiscard]] static slot_geometry for_size(std::size_t stack_size, std::size_t page_bytes) noexcept;
};

struct arena {
  // fixed
  char* first_slot;
  char* end;
  slot_geometry geometry;
  std::uint32_t number;  // in the registry
  std::uint32_t slots;
  // under the pool's lock
  arena* next;
  std::uint32_t cold_count;
  std::array<std::uint64_t, arena_slots_max / 64> cold;  // a bit per slot: its memory was given back
  // written under the pool's lock, read by the overflow report
  atomic<std::uint32_t> carved;
  // counted by whoever carves
  atomic<std::uint32_t> protected_guards;

  [[nodiscard]] char* slot_begin(std::uint32_t slot) const noexcept { return first_slot + slot * geometry.stride; }
  [[nodiscard]] char* slot_low(std::uint32_t slot) const noexcept { return slot_begin(slot) + geometry.guard_bytes; }
  [[nodiscard]] char* slot_end(std::uint32_t slot) const noexcept { return slot_begin(slot) + geometry.stride; }
  [[nodiscard]] stack* descriptor(std::uint32_t slot) const noexcept;

  void mark_cold(std::uint32_t slot) noexcept;
  [[nodiscard]] std::uint32_t take_cold() noexcept;  // cold_count > 0
  [[nodiscard]] bool is_cold(std::uint32_t slot) const noexcept { return (cold[slot / 64] >> (slot % 64) & 1U) != 0; }
};

// Reserves and registers an arena of at most `slots` slots, fewer when the system has no room for so many;
// nullptr when there is not even room for one.
[[nodiscard]] arena* create_arena(slot_geometry geometry, std::uint32_t slots) noexcept;

// Tells the sanitizers, unregisters and unmaps. No stack of it is in use.
void destroy_arena(arena* dead) noexcept;

// Writes the descriptor of a slot: the first touch of its memory.
[[nodiscard]] stack* make_stack(arena& home, std::uint32_t slot, std::size_t size) noexcept;

// The reverse, for a stack that is free: the sanitizers forget it and its memory goes back. False when the
// system keeps the memory (it is locked): the stack is then as it was.
[[nodiscard]] bool unmake_stack(arena& home, stack* idle) noexcept;

[[nodiscard]] inline std::uint32_t slot_of(stack const& one) noexcept { return one.slot % arena_slots_max; }
[[nodiscard]] arena& arena_of(stack const& one) noexcept;

}  // namespace thrum::rt
