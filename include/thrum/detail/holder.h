// Which goroutine holds a lock, for the report on goroutines that wait for each other.
//
// A goroutine is identified by its stack, because the stack pointer is in a register, while reading the goroutine's id
// would cost three dependent loads. Stacks are separated by guards of more than 64 KiB, so an address without its
// lowest 16 bits belongs to one stack only, and fits into 32 bits. The word is written only if it differs, because a
// release has to wait for the stores before it, and a goroutine that locks repeatedly or only reads should not pay for
// that. docs/decisions/010-who-holds-a-mutex.md has the figures.
//
// The word is never cleared, and it is written a moment after the lock was taken. So it names the holder only while the
// lock is held and the holder has already written the word. A holder that waits for another lock has written it.
#pragma once

#include <thrum/detail/atomic.h>

#include <cstdint>

namespace thrum::detail {

inline constexpr unsigned stack_mark_shift = 16;

// The same value wherever the goroutine continues, because a goroutine never changes its stack.
[[nodiscard]] inline std::uint32_t this_stack_mark() noexcept {
  std::uintptr_t stack_pointer;
#if defined(__aarch64__)
  asm("mov %0, sp" : "=r"(stack_pointer));
#elif defined(__x86_64__)
  asm("movq %%rsp, %0" : "=r"(stack_pointer));
#endif
  return static_cast<std::uint32_t>(stack_pointer >> stack_mark_shift);
}

class holder {
 public:
  // All accesses are relaxed, because only a report reads the word, long after it was written.
  void is_this_goroutine() noexcept {
    std::uint32_t const mark = this_stack_mark();
    if (stack_mark_.load(relaxed) != mark) [[unlikely]]
      stack_mark_.store(mark, relaxed);
  }
  [[nodiscard]] std::uint32_t stack_mark() const noexcept { return stack_mark_.load(relaxed); }

 private:
  atomic<std::uint32_t> stack_mark_{0};
};

}  // namespace thrum::detail
