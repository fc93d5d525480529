// Who holds a lock, for the report on goroutines that wait for each other.
//
// A goroutine is known by the stack that it runs on, and where that is stands in a register: its id would cost three dependent
// loads. Stacks are apart by guards of more than 64 KiB, so an address without its lowest 16 bits belongs to one stack only, and
// fits 32 bits. The word is written only by one who finds another's there: a release has to wait for the stores before it, and
// one who locks again and again, or reads only, shall not pay for that. docs/decisions/010-who-holds-a-mutex.md has the figures.
//
// It is never cleared, and written a moment after the lock was won: it says who has the lock only while somebody has, and is
// not just about to write. One who waits for another lock has written.
#pragma once

#include <thrum/detail/atomic.h>

#include <cstdint>

namespace thrum::detail {

inline constexpr unsigned stack_mark_shift = 16;

// The same wherever the goroutine goes on: it never changes its stack.
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
  // relaxed, all: for a report, which comes long after what it is about.
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
