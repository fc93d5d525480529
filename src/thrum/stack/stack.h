// One goroutine stack, and the layout of the slot that it occupies.
//
//     slot begin                low                                    top   descriptor          slot end
//     | guard, 128 KiB          | size + 64 KiB for joining in place   | struct stack | stagger  |
//                               <--------------------------- frames grow down
//
// The descriptor is one cache line at the top of the stack's own memory, in the page that the first frame touches
// anyway. So a stack that has just been carved costs exactly this page. A separate table would cost a second page and a
// second cache miss, and would have to grow.
//
// Invariants:
//  1. low, top, slot and valgrind_id do not change while the stack exists. size changes only when the stack is handed
//     out.
//  2. top - low >= size + stack_join_reserve_bytes, so that a child that is joined in place has a full stack below the
//     goroutine that joined it.
//  3. A stack has exactly one owner: a goroutine, a P's stack_cache, or the stack_pool.
//  4. goroutine_id is 0 whenever a cache or the pool owns the stack. The overflow report reads it in a signal handler.
//
// No locks. The functions run on any stack, also on the one that they are about.
#pragma once

#include "base/limits.h"
#include "base/platform.h"
#include "base/sanitizer_of_program.h"

#include <cstddef>
#include <cstdint>

namespace thrum::rt {

struct stack {
  // fixed when the slot is carved, except size, which is set each time that the stack is handed out
  char* low;         // lowest usable byte, just above the guard
  char* top;         // frames grow down from here; 16-aligned, and equal to the address of this descriptor
  std::size_t size;  // what the user asked for (options::stack_size or stack_size{n}), within the limits

  // written by the owner of the stack
  stack* next;                 // link of a list of free stacks
  std::uint64_t goroutine_id;  // the goroutine that it is bound to, set by the scheduler; 0 if the stack is free
  void* creation_site;         // that goroutine's creation pc; has no meaning while goroutine_id is 0
  void* sanitizer_fiber;       // a ThreadSanitizer fiber that is destroyed with the stack, or nullptr
  std::uint32_t valgrind_id;   // valgrind's id of this stack
  std::uint32_t slot;          // arena number and slot number, see stack/arena.h
};

static_assert(sizeof(stack) == cache_line_bytes, "the descriptor shares the first page with the first frames");

// Removes AddressSanitizer's poison from a stack that has been used, before the next goroutine starts on it. Frames
// that were left without unwinding (goexit, a goroutine that never unwinds) leave poison behind. The pool and the cache
// call it for the stacks that they hand out. The scheduler has to call it only if it keeps a stack from one goroutine
// to the next.
void forget_poison_of_frames(stack const& used) noexcept;
inline void forget_frames(stack const& used) noexcept {
  if (program_has_asan()) [[unlikely]]
    forget_poison_of_frames(used);
}

// Gives the pages below a parked goroutine's sp back to the kernel, but keeps the 128 bytes below sp that leaf
// functions may use. The caller makes sure that the goroutine does not run meanwhile. Returns the size of the range
// that was given back, including pages that were never touched.
std::size_t give_back_below(stack const& parked, char const* sp) noexcept;

}  // namespace thrum::rt
