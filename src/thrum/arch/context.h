// The saved context of a stack, and the switch between two of them.
//
// A context is three words: the stack pointer, the frame pointer and the address to continue at. The compiler saves
// every other register that the calling convention preserves in the frame of switch_context, because the inline
// assembler there lists it as clobbered. The unwind information of that frame is the compiler's own and stays correct,
// so a debugger and an exception can walk a parked goroutine up to its entry.
//
// The switch leaves by an indirect branch, because the processor's return predictor would always mispredict a `ret`
// onto another stack.
//
// Invariants:
//  1. A goroutine that switches away has stored its context before the other side runs. Only after that may another
//     thread resume it.
//  2. The asm is only in functions that are marked THRUM_OPAQUE and have no alloca and no over-aligned locals. In
//     frames with these, clang keeps a base register across an asm that clobbers it.
//  3. Nothing is written below the stack pointer, because the caller's red zone may be there.
//
// No locks. switch_context runs on goroutine stacks and on g0.
#pragma once

#include "base/platform.h"

#include <cstddef>

namespace thrum::rt {

struct context {
  void* sp = nullptr;
  void* fp = nullptr;
  void* pc = nullptr;
#if THRUM_ASAN || THRUM_TSAN
  // What the sanitizers have to be told at a switch to this context.
  char* stack_low = nullptr;
  std::size_t stack_bytes = 0;
  void* fiber = nullptr;
#endif
};

enum class departure : bool {
  comes_back,  // the context is saved and will be resumed
  for_good,    // the stack is given up, so AddressSanitizer may drop what it keeps for it
};

// Saves the present context in `from` and continues at `to`. It returns when a thread, perhaps another one, switches to
// `from`. The floating-point control words belong to the goroutine, so they are restored on return if they have
// changed.
THRUM_OPAQUE void switch_context(context& from, context const& to, departure how) noexcept;

// Calls f(argument) with `own` set to the present context. During the call another thread may walk this stack from
// there (arch/stack_walk.h), but no thread may switch to `own`. own.pc is null before and after the call and is written
// last, so a reader that finds it set with `published_pointer` also sees the other two words.
THRUM_OPAQUE void call_with_context(context& own, void (*f)(void*) noexcept, void* argument) noexcept;

// Prepares `fresh` so that the first switch to it calls entry() on an empty stack that ends at `top`, a multiple of 16.
// entry must not return. Its caller, thrum_goroutine_entry, is the outermost frame for every unwinder.
void make_context(context& fresh, char* low, char* top, void (*entry)()) noexcept;

// Makes `own` the context of the calling thread's own stack. It can be switched to after a switch has saved it.
void adopt_thread_stack(context& own, char* low, char* high) noexcept;

// If the program was compiled with AddressSanitizer and thrum was not, contexts hold no bounds. This hook returns the
// bounds of the goroutine stack on which an address lies. If `low` is null, it lies on no goroutine stack, and so on
// the calling thread's own.
struct stack_bounds {
  char* low = nullptr;
  char* top = nullptr;
};
using bounds_hook = stack_bounds (*)(char const* address) noexcept;
void set_bounds_hook(bounds_hook hook) noexcept;

// Destroys ThreadSanitizer's state (fiber) for a stack that is given up. make_context makes a new one.
void forget_context(context& dead) noexcept;

// The caller's stack pointer.
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
