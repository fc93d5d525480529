// The floating-point control words: rounding mode, exception masks, flush-to-zero.
//
// They belong to the goroutine, but few programs change them. Reading them is cheap and writing them is not, so a
// switch writes them only if they differ.
#pragma once

#include <cstdint>

namespace thrum::rt {

class fp_control {
 public:
#if defined(__aarch64__)
  static fp_control current() noexcept {
    fp_control now;
    asm volatile("mrs %0, fpcr" : "=r"(now.word_));
    return now;
  }
  void restore() const noexcept {
    if (current().word_ != word_) asm volatile("msr fpcr, %0" ::"r"(word_));
  }

 private:
  std::uint64_t word_ = 0;
#elif defined(__x86_64__)
  static fp_control current() noexcept {
    fp_control now;
    asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(now.sse_), "=m"(now.x87_));
    return now;
  }
  void restore() const noexcept {
    fp_control const now = current();
    // The low six bits of mxcsr are sticky status flags and not control bits, so a difference in them does not count.
    if (((now.sse_ ^ sse_) & ~0x3fU) != 0) asm volatile("ldmxcsr %0" ::"m"(sse_));
    if (now.x87_ != x87_) asm volatile("fldcw %0" ::"m"(x87_));
  }

 private:
  std::uint32_t sse_ = 0;
  std::uint16_t x87_ = 0;
#else
#error "thrum supports x86_64 and aarch64 only"
#endif
};

}  // namespace thrum::rt
