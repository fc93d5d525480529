// Watching the heap: how often it is used, and that it is never used inside the runtime (T01).
//
// malloc and its kin are replaced by functions that look and pass on to libc's. Not under AddressSanitizer and
// ThreadSanitizer, which replace them themselves.
#pragma once

#include "base/platform.h"

#include <cstdint>

namespace thrum::test {

inline constexpr bool allocations_are_seen = !rt::with_asan && !rt::with_tsan;

// From now on the program ends when an M whose in-runtime mark is set allocates or frees. A goroutine may be preempted inside
// malloc, holding its lock: the runtime must not wait for it. Two exceptions, both of libc's own making: creating a thread
// (os::create_thread, between pthread_attr_init and _destroy), which Ms do only to say a program's last words, when nothing runs any
// more; and joining one, at the end of run(), likewise.
void guard_the_runtime();

// Allocations by all threads since the program began, and by the calling one.
[[nodiscard]] std::uint64_t allocations_made();
[[nodiscard]] std::uint64_t allocations_made_here();

}  // namespace thrum::test
