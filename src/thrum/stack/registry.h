// Creates, numbers and finds all arenas of the process. The stack of a fault address is found here.
//
// The lookup runs in a SIGSEGV handler, at any time and on any thread. So it takes no lock and follows no pointer that
// may be stale. Entries are in chunks, which are mapped when they are needed and never unmapped. An arena's number is
// the index of its entry, and is used for another arena after this one is gone. Changes are made under the registry's
// own lock, of rank leaf.
//
// A lookup may race with the removal of an arena and see the begin of one arena and the end of another. So it first
// asks the kernel whether the arena's record is readable, and then checks that the record agrees. An arena on which a
// goroutine runs is not removed, so a true overflow is always found.
#pragma once

#include "arch/context.h"
#include "stack/arena.h"

#include <cstdint>

namespace thrum::rt {

inline constexpr std::uint32_t registry_chunk_entries = 4096;
inline constexpr std::uint32_t registry_chunks = 256;  // enough for all numbers of 32 - arena_slot_bits bits

// Reserves an arena as map_arena does, and registers it. Returns nullptr if no address space can be reserved, if all
// numbers are in use, or if a new chunk cannot be mapped.
[[nodiscard]] arena* create_arena(slot_geometry geometry, std::uint32_t slots) noexcept;
// Unregisters and unmaps the arena. No stack of it may be in use.
void destroy_arena(arena* dead) noexcept;

[[nodiscard]] arena* arena_by_number(std::uint32_t number) noexcept;
[[nodiscard]] arena& arena_of(stack const& one) noexcept;

// The arena that this address belongs to, or nullptr. Lock-free, for signal handlers.
[[nodiscard]] arena* arena_by_address(char const* address) noexcept;

// The bounds of the goroutine stack that this address lies on. The goroutine runs or is about to run, so the stack
// exists. `low` is null if the address lies on no goroutine stack.
[[nodiscard]] stack_bounds bounds_by_address(char const* address) noexcept;

// The number of the goroutine to which the stack is bound on whose slot this address lies, or 0. It is a hint, because
// the stack may go to another goroutine at the same moment. Lock-free. Called while no arena can be destroyed.
[[nodiscard]] std::uint64_t goroutine_by_address(char const* address) noexcept;

}  // namespace thrum::rt
