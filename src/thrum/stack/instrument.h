// Tells memory checkers about stacks: AddressSanitizer's poison, ThreadSanitizer's fibers and valgrind's stack ids.
//
// Without such a tool these functions cost nothing, or a few instructions for valgrind's requests. No locks. Runs
// wherever stacks are made and unmade.
#pragma once

#include "base/platform.h"
#include "stack/stack.h"

#include <cstdint>

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#define THRUM_VALGRIND 1
#else
#define THRUM_VALGRIND 0
#endif
#if THRUM_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace thrum::rt {

// Whether a tool must be told about each stack that is destroyed. If not, an arena is unmapped without visiting its
// stacks.
inline bool stacks_are_watched() noexcept {
#if THRUM_VALGRIND
  return program_has_asan() || with_tsan || RUNNING_ON_VALGRIND != 0;
#else
  return program_has_asan() || with_tsan;
#endif
}

inline void watch_stack([[maybe_unused]] stack& fresh) noexcept {
#if THRUM_VALGRIND
  fresh.valgrind_id = static_cast<std::uint32_t>(VALGRIND_STACK_REGISTER(fresh.low, fresh.top));
#endif
}

inline void unwatch_stack(stack& dead) noexcept {
  forget_frames(dead);
#if THRUM_VALGRIND
  VALGRIND_STACK_DEREGISTER(dead.valgrind_id);
#endif
#if THRUM_TSAN
  if (dead.sanitizer_fiber != nullptr) __tsan_destroy_fiber(dead.sanitizer_fiber);
  dead.sanitizer_fiber = nullptr;
#endif
}

}  // namespace thrum::rt
