#include "arch/context.h"

#include "arch/fp_control.h"
#include "base/atomic.h"
#include "base/check.h"
#include "base/sanitizer_of_program.h"

#include <cstddef>
#include <cstdint>

#if THRUM_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if THRUM_TSAN
#include <sanitizer/tsan_interface.h>
#endif

extern "C" __attribute__((visibility("hidden"))) void thrum_goroutine_entry();  // entry_<architecture>.S

namespace thrum::rt {

static_assert(offsetof(context, sp) == 0 && offsetof(context, fp) == 8 && offsetof(context, pc) == 16,
              "the assembler below knows these offsets");

namespace {

// The clobber list names every register that the code at `to` may change and that the asm does not save, so the
// compiler saves the live ones in this frame. The frame pointer is saved in the context, because gcc rejects it in a
// clobber list.
[[gnu::always_inline]] inline void jump(context& from, context const& to) noexcept {
#if defined(__aarch64__)
  register context* save asm("x0") = &from;
  register context const* load asm("x1") = &to;
  asm volatile(
      "adr  x9, 1f\n\t"
      "mov  x10, sp\n\t"
      "stp  x10, x29, [x0]\n\t"
      "str  x9, [x0, #16]\n\t"
      "ldp  x10, x29, [x1]\n\t"
      "ldr  x9, [x1, #16]\n\t"
      "mov  sp, x10\n\t"
      "br   x9\n"
      "1:\n\t"
      "hint #36\n\t"  // bti j
      : "+r"(save), "+r"(load)
      :
      : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18",
        "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30", "v0", "v1", "v2", "v3", "v4", "v5",
        "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21",
        "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory");
#elif defined(__x86_64__)
  context* save = &from;
  context const* load = &to;
  asm volatile(
      "leaq 1f(%%rip), %%rax\n\t"
      "movq %%rsp, 0(%%rdi)\n\t"
      "movq %%rbp, 8(%%rdi)\n\t"
      "movq %%rax, 16(%%rdi)\n\t"
      "movq 0(%%rsi), %%rsp\n\t"
      "movq 8(%%rsi), %%rbp\n\t"
      "jmpq *16(%%rsi)\n"
      "1:\n\t"
      "endbr64\n\t"
      : "+D"(save), "+S"(load)
      :
      : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2",
        "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",
        "cc", "memory");
#if defined(__AVX512F__)
  asm volatile("" ::
                   : "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26",
                     "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6", "k7");
#endif
#endif
}

// Stores the present context as `jump` does, and continues.
[[gnu::always_inline]] inline void note_where_we_are(context& own) noexcept {
#if defined(__aarch64__)
  register context* save asm("x0") = &own;
  asm volatile(
      "adr  x9, 1f\n\t"
      "mov  x10, sp\n\t"
      "stp  x10, x29, [x0]\n\t"
      "str  x9, [x0, #16]\n"
      "1:\n\t"
      : "+r"(save)
      :
      : "x9", "x10", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30", "memory");
#elif defined(__x86_64__)
  context* save = &own;
  asm volatile(
      "leaq 1f(%%rip), %%rax\n\t"
      "movq %%rsp, 0(%%rdi)\n\t"
      "movq %%rbp, 8(%%rdi)\n\t"
      "movq %%rax, 16(%%rdi)\n"
      "1:\n\t"
      : "+D"(save)
      :
      : "rax", "rbx", "r12", "r13", "r14", "r15", "memory");
#endif
}

constinit bounds_hook find_bounds = nullptr;

#if THRUM_PROGRAM_MAY_HAVE_ASAN
[[gnu::tls_model("initial-exec")]] constinit thread_local stack_bounds own_stack;

// `to` lies on a goroutine's stack or on the calling thread's own stack, because only its own thread switches to a g0.
stack_bounds bounds_of(context const& to) noexcept {
  stack_bounds const found = find_bounds != nullptr ? find_bounds(static_cast<char const*>(to.sp)) : stack_bounds();
  return found.low != nullptr ? found : own_stack;
}

// switch_context for a program that was compiled with AddressSanitizer.
THRUM_OPAQUE void switch_under_asan(context& from, context const& to, departure how) noexcept {
  fp_control const mine = fp_control::current();
  void* fake_stack = nullptr;
  stack_bounds const there = bounds_of(to);
  __sanitizer_start_switch_fiber(how == departure::comes_back ? &fake_stack : nullptr, there.low,
                                 static_cast<std::size_t>(there.top - there.low));
  jump(from, to);
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
  mine.restore();
}
#endif

}  // namespace

void set_bounds_hook(bounds_hook hook) noexcept { find_bounds = hook; }

// The clobbers make the compiler save the registers in this frame, so a walk that starts here finds all of them.
THRUM_NO_TSAN THRUM_NO_ASAN void call_with_context(context& own, void (*f)(void*) noexcept, void* argument) noexcept {
  context here;
  note_where_we_are(here);
  own.sp = here.sp;
  own.fp = here.fp;
  publish_pointer(own.pc, here.pc);
  f(argument);
  publish_pointer(own.pc,
                  static_cast<void*>(nullptr));  // also keeps the call of f from being a tail call, so the frame stays
}

THRUM_NO_TSAN THRUM_NO_ASAN void switch_context(context& from, context const& to,
                                                [[maybe_unused]] departure how) noexcept {
#if THRUM_PROGRAM_MAY_HAVE_ASAN
  if (program_has_asan()) [[unlikely]] {
    switch_under_asan(from, to, how);
    return;
  }
#endif
  fp_control const mine = fp_control::current();
#if THRUM_ASAN
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(how == departure::comes_back ? &fake_stack : nullptr, to.stack_low, to.stack_bytes);
#endif
#if THRUM_TSAN
  __tsan_switch_to_fiber(to.fiber, 0);
#endif
  jump(from, to);
#if THRUM_ASAN
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
  mine.restore();
}

void make_context(context& fresh, [[maybe_unused]] char* low, char* top, void (*entry)()) noexcept {
  THRUM_DCHECK(reinterpret_cast<std::uintptr_t>(top) % 16 == 0);
  // The entry stub finds the function to call in the word at the stack pointer. The second word keeps the alignment.
  auto* const frame = reinterpret_cast<void (**)()>(top - 16);
  frame[0] = entry;
  fresh.sp = frame;
  fresh.fp = nullptr;
  fresh.pc = reinterpret_cast<void*>(&thrum_goroutine_entry);
#if THRUM_ASAN || THRUM_TSAN
  fresh.stack_low = low;
  fresh.stack_bytes = static_cast<std::size_t>(top - low);
#endif
#if THRUM_TSAN
  fresh.fiber = __tsan_create_fiber(0);
#endif
}

void adopt_thread_stack([[maybe_unused]] context& own, [[maybe_unused]] char* low,
                        [[maybe_unused]] char* high) noexcept {
#if THRUM_ASAN || THRUM_TSAN
  own.stack_low = low;
  own.stack_bytes = static_cast<std::size_t>(high - low);
#endif
#if THRUM_PROGRAM_MAY_HAVE_ASAN
  if (program_has_asan()) own_stack = {low, high};
#endif
#if THRUM_TSAN
  own.fiber = __tsan_get_current_fiber();
#endif
}

void forget_context([[maybe_unused]] context& dead) noexcept {
#if THRUM_TSAN
  __tsan_destroy_fiber(dead.fiber);
  dead.fiber = nullptr;
#endif
}

}  // namespace thrum::rt

// Called by the entry stub. A goroutine that starts does not return from switch_context, so this tells AddressSanitizer
// that the switch is finished.
extern "C" __attribute__((visibility("hidden"))) void thrum_first_arrival() noexcept {
#if THRUM_ASAN
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#elif THRUM_PROGRAM_MAY_HAVE_ASAN
  if (thrum::rt::program_has_asan()) __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
}
