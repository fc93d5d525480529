// Walks somebody else's stack, from saved registers into an array of program counters.
//
// The unwinder of the language (libgcc) does the walking, so whatever the compiler's unwind information can describe can be
// walked: no frame pointers, alloca, over-aligned locals, signed return addresses. It only knows how to start from its own
// caller; so that caller is a piece of assembler (stack_walk_<architecture>.S) whose unwind information says that it was
// called from where those registers stood. Nothing runs on the other stack. A walk along the frame pointers is what
// does not work: release builds and the C library keep none.
//
// Nothing is allocated and, with a C library that has _dl_find_object (glibc 2.35), no lock is taken: the walk may be made
// with the world stopped and on a signal stack (T01). Before that, the loader's lock is taken for every frame.
//
// Invariants:
//  1. Whoever the stack belongs to does not run on it during the walk.
//  2. A frame is visited only while its stack pointer lies in the stack and above that of the frame that it called: broken
//     unwind information ends a walk, and cannot lead it in a circle. It can still lead it astray by one frame: what the
//     frame's information says is read before we see it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thrum::rt {

struct context;

// By their DWARF numbers, which is how the unwind information names them; the program counter comes last.
struct stack_registers {
#if defined(__aarch64__)
  static constexpr std::size_t count = 33, fp = 29, lr = 30, sp = 31, pc = 32;
#elif defined(__x86_64__)
  static constexpr std::size_t count = 17, fp = 6, sp = 7, pc = 16;
#endif
  std::uintptr_t by_number[count] = {};
};

// Where a stack begins and ends; the walk does not leave it.
struct stack_range {
  char const* low;
  char const* high;
};

// Of one that has switched away, or has not started. All it saved are the registers that the switch cannot do without: the
// frame of the switch holds the others.
[[nodiscard]] stack_registers registers_of(context const& saved) noexcept;

// Writes at most `max` program counters, innermost first, and answers how many. Each lies within the instruction that the
// frame is at: it is exact for the innermost frame and for one that a signal interrupted, and for a caller the last byte of
// its call, not the instruction after it, which may be another function's.
[[nodiscard]] std::size_t walk_stack(stack_registers const& from, stack_range on, std::uintptr_t* pcs,
                                     std::size_t max) noexcept;

// The unwinder sets up its tables when it is used first, and the loader binds it then: call this once while locks may still
// be taken.
void prepare_stack_walks() noexcept;

}  // namespace thrum::rt
