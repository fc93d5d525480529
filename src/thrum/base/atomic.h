// The atomics that the library's source uses, its only store-load fence, and a few helpers around plain words.
//
// Everything here is inline, takes no lock and may be called on any stack, also in a signal handler.
#pragma once

#include "base/platform.h"
#include <thrum/detail/atomic.h>

#include <cstdint>

namespace thrum::rt {

using detail::acq_rel;
using detail::acquire;
using detail::atomic;
using detail::relaxed;
using detail::release;
using detail::seq_cst;

// All fences of all threads have one total order. What a thread stores before its fence is visible to every thread
// whose fence comes later. So if two threads each store to their own word, call the fence and then load the other's
// word, at least one of them sees the other's store. Acquire and release cannot promise that, because they never order
// a store before a later load.
//
// ThreadSanitizer does not model fences. A read-modify-write of one common word gives it the same total order.
inline void store_load_fence() noexcept {
#if THRUM_TSAN
  static constinit atomic<unsigned> common{0};
  common.fetch_add(1U, seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

// Orders this thread's accesses for a signal handler on the same thread. It orders them for another thread only if that
// thread forces a barrier on this one (membarrier, os/barrier.h). It costs no instruction.
inline void signal_fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

// Adds to a counter that only its owner writes and that other threads may read. It needs no read-modify-write, only
// accesses that are not torn.
template <class T>
inline void owner_add(atomic<T>& counter, T delta) noexcept {
  counter.store(static_cast<T>(counter.load(relaxed) + delta),
                relaxed);  // relaxed: a statistic, nothing follows from it
}

// Reads a plain word that its owner may be writing at the same time, and returns the old value or the new one. Use it
// only for a hint, such as what to prefetch, or for a report. The access is hidden from ThreadSanitizer, which would
// report a race.
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
  asm volatile("isb" ::: "memory");  // `yield` is a no-op on most cores; `isb` pauses for some tens of cycles
#endif
}

// Publish a pointer in a plain word that its owner otherwise reads and writes without atomics. A thread that reads the
// pointer with `published_pointer` sees everything that the owner wrote before `publish_pointer`: the release in
// `publish_pointer` pairs with the acquire in `published_pointer`.
template <class T>
void publish_pointer(T*& word, T* value) noexcept {
  __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}
template <class T>
[[nodiscard]] T* published_pointer(T* const& word) noexcept {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

// The same for a word of memory that holds numbers: see publish_pointer.
inline void publish_word(std::uint64_t& word, std::uint64_t value) noexcept {
  __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}
// Writes a word that a later publish_word of another word publishes.
inline void write_word(std::uint64_t& word, std::uint64_t value) noexcept {
  __atomic_store_n(&word, value, __ATOMIC_RELAXED);
}
[[nodiscard]] inline std::uint64_t published_word(std::uint64_t const& word) noexcept {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

}  // namespace thrum::rt
