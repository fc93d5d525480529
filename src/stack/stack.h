// One goroutine stack, and the layout of the slot that it lives in.
//
//     slot begin                low                                    top   descriptor          slot end
//     | guard, 128 KiB          | size + 64 KiB for joining in place   | struct stack | stagger  |
//                               <--------------------------- frames grow down
//
// The descriptor is one cache line at the very top of the stack's own memory, in the page that the first
// frame touches anyway: a stack that is carved, or lies on a free list, costs exactly this page. A table on
// the side would be a second page, a second cache miss, and something to grow.
//
// Invariants:
//  1. low, top, slot and valgrind_id do not change while the stack exists; size only while it is handed out.
//  2. top - low >= size + stack_join_reserve_bytes: a child joined in place finds a full stack below its
//     host.
//  3. Exactly one party owns a stack: a goroutine, a P's stack_cache, or the stack_pool (free list).
//  4. goroutine_id is 0 whenever a cache or the pool owns it. The overflow report reads it from a signal
//     handler.
//
// No locks. Runs on any stack, also on the one it describes.
#pragma once

#include "base/limits.h"
#include "base/platform.h"
#include "base/sanitizer_of_program.h"

#include <cstddef>
#include <cstdint>

namespace thrum::rt {

struct stack {
  // fixed when the slot is carved
  char* low;         // lowest usable byte: just above the guard
  char* top;         // 16-aligned: frames grow down from here; equals the address of this descriptor
  std::size_t size;  // what the user asked for (options::stack_size or stack_size{n}), within the limits

  // whoever owns it
  stack* next;                 // link of a list of free stacks
  std::uint64_t goroutine_id;  // who runs on it, set by the scheduler when it binds the stack; 0 when free
  void* creation_site;         // that goroutine's creation pc; means nothing while goroutine_id is 0
  void* sanitizer_fiber;       // TSan's fibre where it lives as long as the stack, which then destroys it
  std::uint32_t valgrind_id;   // valgrind's name for this stack
  std::uint32_t slot;          // arena number and slot number, see stack/arena.h
};

static_assert(sizeof(stack) == cache_line_bytes, "the descriptor shares the first page with the first frames");

// Frames that were abandoned (goexit, a goroutine that never unwinds) leave AddressSanitizer's poison behind.
// Whoever starts a goroutine on a stack that has been used before says so here. The pool and the cache do it
// for the stacks that they hand out; only a scheduler that keeps the stack in hand from one goroutine to the
// next calls it itself.
void forget_poison_of_frames(stack const& used) noexcept;
inline void forget_frames(stack const& used) noexcept {
  if (program_has_asan()) [[unlikely]]
    forget_poison_of_frames(used);
}

// Gives the pages below a parked goroutine's sp back to the system, less the 128 bytes that leaf functions
// may use below it. The caller keeps the goroutine from running meanwhile. Answers how many bytes were
// offered (touched or not).
std::size_t give_back_below(stack const& parked, char const* sp) noexcept;

}  // namespace thrum::rt
