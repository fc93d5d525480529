// All arenas of the process, so that a fault address finds its stack.
//
// The lookup runs in a SIGSEGV handler, at any time and on any thread: it takes no lock and follows no
// pointer that may be stale. Entries live in chunks that are mapped when needed and never unmapped; an
// arena's number is its place in them and is used again when the arena is gone. Changes are made under a lock
// of their own, rank leaf.
//
// A lookup may race with the removal of an arena and see the begin of one and the end of another. Whatever it
// finds is therefore confirmed by the arena's own record, once that is known to be readable. An arena on
// which somebody runs is not removed, so a true overflow is always found.
#pragma once

#include "arch/context.h"
#include "stack/arena.h"

#include <cstdint>

namespace thrum::rt {

inline constexpr std::uint32_t registry_chunk_entries = 4096;
inline constexpr std::uint32_t registry_chunks = 256;  // all numbers that 32 - arena_slot_bits can hold

// Gives the arena its number. False when there is no room for it.
[[nodiscard]] bool register_arena(arena* fresh) noexcept;
void unregister_arena(arena* dead) noexcept;

[[nodiscard]] arena* arena_by_number(std::uint32_t number) noexcept;

// Lock-free, for signal handlers: the arena that this address belongs to, or nullptr.
[[nodiscard]] arena* arena_by_address(char const* address) noexcept;

// The stack that this address lies on: its goroutine runs or is about to. Without a low end: it lies on no goroutine's stack.
[[nodiscard]] stack_bounds bounds_by_address(char const* address) noexcept;

}  // namespace thrum::rt
