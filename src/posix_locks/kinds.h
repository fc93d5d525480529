// The words of glibc's mutexes and condition variables that thrum reads. They are part of glibc's binary interface,
// because programs initialise both objects statically.
#pragma once

#include "base/atomic.h"

#include <cstdint>

#include <pthread.h>
#include <time.h>

#ifndef __GLIBC__
#error "thrum::posix_locks supports the mutexes of glibc only"
#endif

namespace thrum::posix {

enum class mutex_kind : std::uint8_t {
  unowned,  // normal, adaptive: any thread may unlock it
  owned,    // recursive, errorcheck: it belongs to a thread or, here, to a goroutine (owners.h)
  other,    // robust, with priority protocol, shared with other processes, destroyed, or unknown here
};

[[nodiscard]] inline int bits_of(pthread_mutex_t const& mutex) noexcept { return rt::hint_of(mutex.__data.__kind); }

[[nodiscard]] inline mutex_kind kind_of(pthread_mutex_t const& mutex) noexcept {
  constexpr int elision = 256 | 512;  // the flags for lock elision, which make no difference here
  switch (bits_of(mutex) & ~elision) {
    case PTHREAD_MUTEX_TIMED_NP:
    case PTHREAD_MUTEX_ADAPTIVE_NP: return mutex_kind::unowned;
    case PTHREAD_MUTEX_RECURSIVE_NP:
    case PTHREAD_MUTEX_ERRORCHECK_NP: return mutex_kind::owned;
    default: return mutex_kind::other;
  }
}

[[nodiscard]] inline bool is_recursive(pthread_mutex_t const& mutex) noexcept {
  return (bits_of(mutex) & 3) == PTHREAD_MUTEX_RECURSIVE_NP;
}

// The id of the thread that holds the mutex. It is 0 if no thread does, and for a moment during locking and unlocking.
[[nodiscard]] inline int owner_of(pthread_mutex_t const& mutex) noexcept { return rt::hint_of(mutex.__data.__owner); }

// How many times the owner has locked a recursive mutex. Only the owner may ask.
[[nodiscard]] inline unsigned depth_of(pthread_mutex_t const& mutex) noexcept { return mutex.__data.__count; }

[[nodiscard]] inline bool is_shared(pthread_cond_t const& condition) noexcept {
  return (rt::hint_of(condition.__data.__wrefs) & 1U) != 0;
}

inline constexpr clockid_t wall_clock = 0;

// The clock of the condition variable's time limits.
[[nodiscard]] inline clockid_t clock_of(pthread_cond_t const& condition) noexcept {
  return (rt::hint_of(condition.__data.__wrefs) & 2U) != 0 ? CLOCK_MONOTONIC : wall_clock;
}

}  // namespace thrum::posix
