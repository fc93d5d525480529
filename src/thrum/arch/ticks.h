// The processor's counter: a clock that costs some ten nanoseconds less than the kernel's.
//
// It counts at a constant rate on every processor at once where counter_is_steady() is true, which is the case on all
// aarch64 processors and on x86_64 processors with an invariant time-stamp counter. Two processors may differ by some
// hundred ticks, and the processor may read the counter before earlier loads have ended. So the order of two readings
// on different processors proves nothing.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace thrum::rt {

[[nodiscard]] bool counter_is_steady() noexcept;

// May be called anywhere.
[[nodiscard, gnu::always_inline]] inline std::uint64_t counter_now() noexcept {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t now;
  asm volatile("mrs %0, cntvct_el0" : "=r"(now));
  return now;
#endif
}

}  // namespace thrum::rt
