// Atomics for the library's inside, and the one store-load helper.
#pragma once

#include "base/platform.h"
#include <thrum/detail/atomic.h>

namespace thrum::rt {

using detail::acq_rel;
using detail::acquire;
using detail::atomic;
using detail::relaxed;
using detail::release;
using detail::seq_cst;

// Everything stored before it is visible to whoever's own store_load_fence comes later, and vice versa: of two threads
// that each store, fence and look at the other's word, at least one sees the other. Acquire and release cannot promise
// that: they order a load before a later store, never a store before a later load.
//
// ThreadSanitizer does not model fences; a read-modify-write of one common word gives it the same total order.
inline void store_load_fence() noexcept {
#if THRUM_TSAN
  static constinit atomic<unsigned> common{0};
  common.fetch_add(1U, seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

// Orders what this thread does for a signal handler on the same thread; for other threads only if they bring about a barrier
// here (membarrier). Costs no instruction.
inline void signal_fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

// A counter that only its owner writes and others may read: no read-modify-write is needed, only untorn accesses.
template <class T>
inline void owner_add(atomic<T>& counter, T delta) noexcept {
  counter.store(static_cast<T>(counter.load(relaxed) + delta),
                relaxed);  // relaxed: a statistic, nothing follows from it
}

// Reads a plain word that its owner may be writing: the old value or the new one. Good for a hint, such as what to prefetch,
// or for a report, and for nothing else. ThreadSanitizer, which would call it a race, does not see it.
template <class T>
#if THRUM_TSAN
[[gnu::noinline]] THRUM_NO_TSAN
#else
inline
#endif
T hint_of(T const& word) noexcept {
  return *const_cast<T const volatile*>(&word);
}

inline void cpu_relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");  // `yield` is a no-op on most cores; isb really pauses for some tens of cycles
#endif
}

// A word that is plain for its owner, and through which somebody else may be told: the pointer last, and found with all that was
// written before it.
template <class T>
void tell(T*& word, T* value) noexcept {
  __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}
template <class T>
[[nodiscard]] T* told(T* const& word) noexcept {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

}  // namespace thrum::rt
