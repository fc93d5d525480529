// Watches the heap: it counts allocations, and checks that the runtime itself never allocates (T01).
//
// malloc, free and the like are replaced by functions that check and then call libc's. That is not done under
// AddressSanitizer and ThreadSanitizer, which replace these functions themselves.
#pragma once

#include "base/platform.h"

#include <cstdint>

namespace thrum::test {

inline constexpr bool allocations_are_seen = !rt::with_asan && !rt::with_tsan;

// After this call the program ends when an M whose in-runtime mark is set allocates or frees. A goroutine may be
// preempted inside malloc while it holds malloc's lock, so the runtime must not wait for that lock. There are two
// exceptions, because libc itself allocates there:
//  - Creating a thread (os::create_thread, between pthread_attr_init and pthread_attr_destroy). Ms do that only to
//    print a program's last message, when no goroutine runs.
//  - Joining a thread, at the end of run(), when no goroutine runs either.
void guard_the_runtime();

// The number of allocations since the program began, by all threads and by the calling thread.
[[nodiscard]] std::uint64_t allocations_made();
[[nodiscard]] std::uint64_t allocations_made_here();

}  // namespace thrum::test
