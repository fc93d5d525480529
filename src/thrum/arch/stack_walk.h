// Walks the stack of another goroutine or thread, from its saved registers, into an array of program counters.
//
// The compiler's unwinder (libgcc) does the walking. So the walk handles everything that unwind information can
// describe: code without frame pointers, alloca, over-aligned locals, signed return addresses. The unwinder can only
// start from its own caller. That caller is a piece of assembler (stack_walk_<architecture>.S) whose unwind information
// says that it was called from where the saved registers point. Nothing runs on the other stack.
//
// A walk along the frame pointers does not work, because release builds and the C library have none.
//
// Nothing is allocated. With a C library that has _dl_find_object (glibc 2.35) no lock is taken, so the walk may be
// made while the world is stopped and on a signal stack (T01). With an older one the loader's lock is taken for every
// frame.
//
// Invariants:
//  1. The owner of the stack does not run on it during the walk.
//  2. A frame is visited only if its stack pointer lies in the stack and above that of the frame that it called. So
//     broken unwind information ends a walk and cannot lead it in a circle. The walk can go wrong by one frame, because
//     the unwinder applies a frame's information before the check sees the result.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thrum::rt {

struct context;

// Indexed by DWARF register number, as in the unwind information. The program counter is last.
struct stack_registers {
#if defined(__aarch64__)
  static constexpr std::size_t count = 33, fp = 29, lr = 30, sp = 31, pc = 32;
#elif defined(__x86_64__)
  static constexpr std::size_t count = 17, fp = 6, sp = 7, pc = 16;
#endif
  std::uintptr_t by_number[count] = {};
};

// The bounds of a stack. The walk does not leave them.
struct stack_range {
  char const* low;
  char const* high;
};

// The registers of a goroutine that has switched away or has not started. A context holds only the three registers that
// the switch needs; the frame of switch_context holds the others, and the unwinder finds them there.
[[nodiscard]] stack_registers registers_of(context const& saved) noexcept;

// Writes at most `max` program counters, innermost first, and returns how many it has written. For the innermost frame
// and for a frame that a signal interrupted, it is the address of the instruction. For a caller it is the last byte of
// its call instruction, because the instruction after it may belong to another function.
[[nodiscard]] std::size_t walk_stack(stack_registers const& from, stack_range on, std::uintptr_t* pcs,
                                     std::size_t max) noexcept;

// Makes a first walk. At its first use the unwinder sets up its tables and the loader binds its symbols, and both take
// locks. So call this once at a time when locks may be taken.
void prepare_stack_walks() noexcept;

}  // namespace thrum::rt
