// The saved context of a stack, and the switch between two of them.
//
// A context is three words: stack pointer, frame pointer and where to go on. Everything else that the calling
// convention preserves is saved by the compiler in the frame of switch_context itself, because the inline assembler there
// names it as clobbered; the unwind information is the compiler's own and stays right, so that a debugger and an
// exception can walk a parked goroutine to its entry. The switch leaves by an indirect branch: a `ret` onto another stack
// would always be mispredicted by the return stack.
//
// Invariants:
//  1. Whoever switches away has stored its context before the other side runs; only after that may anybody resume it.
//  2. The asm lives only in functions marked THRUM_OPAQUE without alloca or over-aligned locals: in such frames clang
//     keeps a base register across an asm that clobbers it.
//  3. Nothing is written below the stack pointer: the caller's red zone may be there.
#pragma once

#include "base/platform.h"

#include <cstddef>

namespace thrum::rt {

struct context {
  void* sp = nullptr;
  void* fp = nullptr;
  void* pc = nullptr;
#if THRUM_ASAN || THRUM_TSAN
  // What the sanitizers must be told when we arrive here.
  char* stack_low = nullptr;
  std::size_t stack_bytes = 0;
  void* fiber = nullptr;
#endif
};

enum class departure : bool {
  comes_back,  // the context is saved and will be resumed
  for_good,    // the stack is given up: a sanitizer may forget what it knows of it
};

// Saves the present context in `from` and goes on at `to`; returns when somebody switches to `from` again, perhaps on
// another thread. The floating-point control word is the goroutine's: it is restored if the arriver finds another.
THRUM_OPAQUE void switch_context(context& from, context const& to, departure how) noexcept;

// Calls f(argument) with `own` set to where the caller stands: as long as the call lasts, somebody else may walk this stack from
// there (arch/stack_walk.h). Nobody may switch to it. Its pc is null before and afterwards, and set last.
THRUM_OPAQUE void call_with_context(context& own, void (*f)(void*) noexcept, void* argument) noexcept;

// Prepares `fresh` so that the first switch to it calls entry() on an empty stack that ends at `top` (16-aligned).
// entry must not return; its caller is the outermost frame for every unwinder.
void make_context(context& fresh, char* low, char* top, void (*entry)()) noexcept;

// The calling thread's own stack, as a context that can be switched to once it has been saved.
void adopt_thread_stack(context& own, char* low, char* high) noexcept;

// Where the program has AddressSanitizer and thrum has not, contexts carry no bounds. This hook finds the goroutine's stack that an
// address lies on; bounds without a low end mean that it lies on none, and so on the calling thread's own.
struct stack_bounds {
  char* low = nullptr;
  char* top = nullptr;
};
using bounds_hook = stack_bounds (*)(char const* address) noexcept;
void set_bounds_hook(bounds_hook hook) noexcept;

// Sanitizers keep a state per stack: it is let go when a stack is given up, and made anew by make_context.
void forget_context(context& dead) noexcept;

// Where the caller's stack ends at this moment.
[[gnu::always_inline]] inline char const* stack_pointer() noexcept {
  char const* sp;
#if defined(__aarch64__)
  asm volatile("mov %0, sp" : "=r"(sp));
#elif defined(__x86_64__)
  asm volatile("movq %%rsp, %0" : "=r"(sp));
#endif
  return sp;
}

}  // namespace thrum::rt
