// An arena: one reservation of address space for many equal slots, with its record in the first page. To carve a slot
// is to use it for a stack for the first time.
//
// Only pages that are touched cost memory: the record's pages, and the top page of each carved slot. An arena is one
// memory mapping for the kernel, and neighbouring mappings merge, so a million stacks need some hundred mappings.
//
// The tops of the stacks are spread over the sets of the CPU caches in two ways:
//  - The stride of the slots is an odd number of pages, so the tops of consecutive stacks use all sets of a cache whose
//    index has more bits than a page offset.
//  - Within its page, the top moves down by one cache line from slot to slot, in 16 steps. Otherwise a cache that is
//    indexed by the page offset alone would hold the most used part of a thousand stacks in a few sets.
//
// The registry (stack/registry.h) creates and numbers the arenas, so that stack::slot, of 32 bits, holds both the
// number of the arena and the number of the slot.
//
// The functions here take no lock. They run on g0, on a goroutine's stack or on sysmon.
#pragma once

#include "base/atomic.h"
#include "stack/stack.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace thrum::rt {

inline constexpr std::uint32_t arena_slot_bits = 12;
inline constexpr std::uint32_t arena_slots_max = 1U << arena_slot_bits;  // 1.8 GiB of default stacks
// 28 MiB of address space for a program with few goroutines; each following arena has twice as many slots
inline constexpr std::uint32_t arena_slots_first = 64;
inline constexpr std::size_t arena_bytes_max = 2UL << 30U;  // the limit for large stacks, unless one slot is larger
inline constexpr std::uint32_t stagger_steps = 16;          // 16 lines: a quarter of a 4 KiB page at most

struct slot_geometry {
  std::size_t stride = 0;       // an odd number of pages
  std::size_t guard_bytes = 0;  // at the low end

  [[nodiscard]] static slot_geometry for_size(std::size_t stack_size, std::size_t page_bytes) noexcept;
};

struct arena {
  // fixed when the arena is created
  char* first_slot;
  char* end;
  slot_geometry geometry;
  std::uint32_t number;  // the arena's number in the registry
  std::uint32_t slots;
  // under the pool's lock
  arena* next;
  std::uint32_t cold_count;
  std::array<std::uint64_t, arena_slots_max / 64> cold;  // one bit per slot, set while its memory is given back
  // written under the pool's lock, read by the overflow report
  atomic<std::uint32_t> carved;  // slots 0 to carved - 1 have been carved
  // incremented by the thread that carves a slot, outside the lock
  atomic<std::uint32_t> protected_guards;  // guards made by mprotect

  [[nodiscard]] char* slot_begin(std::uint32_t slot) const noexcept { return first_slot + slot * geometry.stride; }
  [[nodiscard]] char* slot_low(std::uint32_t slot) const noexcept { return slot_begin(slot) + geometry.guard_bytes; }
  [[nodiscard]] char* slot_end(std::uint32_t slot) const noexcept { return slot_begin(slot) + geometry.stride; }
  [[nodiscard]] stack* descriptor(std::uint32_t slot) const noexcept;

  void mark_cold(std::uint32_t slot) noexcept;
  [[nodiscard]] std::uint32_t take_cold() noexcept;  // requires cold_count > 0
  [[nodiscard]] bool is_cold(std::uint32_t slot) const noexcept { return (cold[slot / 64] >> (slot % 64) & 1U) != 0; }
};

// Reserves an arena of `slots` slots, or of fewer if the system cannot reserve that much address space. The arena has
// no number. Returns nullptr if the system cannot even reserve one slot. Called by create_arena (stack/registry.h).
[[nodiscard]] arena* map_arena(slot_geometry geometry, std::uint32_t slots) noexcept;

// Tells the sanitizers and valgrind that the stacks are gone, and unmaps the arena. No stack of it may be in use.
// Called by destroy_arena (stack/registry.h).
void unmap_arena(arena* dead) noexcept;

// Writes the descriptor of a slot. This is the first access to the slot's memory.
[[nodiscard]] stack* make_stack(arena& owner, std::uint32_t slot, std::size_t size) noexcept;

// The reverse of make_stack, for a stack that is free: tells the sanitizers and valgrind that the stack is gone and
// gives its memory back. Returns false if the kernel refuses, because the memory is locked. The stack stays usable
// then.
[[nodiscard]] bool unmake_stack(arena& owner, stack* idle) noexcept;

[[nodiscard]] inline std::uint32_t slot_of(stack const& one) noexcept { return one.slot % arena_slots_max; }

}  // namespace thrum::rt
