// What glibc has written into a mutex or a condition variable: the words of it that are looked at here, and nothing else. They are part of
// its binary interface, since programs initialise both without calling it.
#pragma once

#include "base/atomic.h"

#include <cstdint>

#include <pthread.h>
#include <time.h>

#ifndef __GLIBC__
#error "thrum::posix_locks knows the mutexes of glibc"
#endif

namespace thrum::posix {

enum class mutex_kind : std::uint8_t {
  anybodys,  // normal, adaptive: whoever unlocks it
  owned,     // recursive, errorcheck: it belongs to a thread, and for goroutines to one of these (owners.h)
  other,     // robust, with priorities, shared with other processes; destroyed; or not known here
};

[[nodiscard]] inline int bits_of(pthread_mutex_t const& mutex) noexcept { return rt::hint_of(mutex.__data.__kind); }

[[nodiscard]] inline mutex_kind kind_of(pthread_mutex_t const& mutex) noexcept {
  constexpr int elision = 256 | 512;  // whether locks are elided: the same to whoever asks for them
  switch (bits_of(mutex) & ~elision) {
    case PTHREAD_MUTEX_TIMED_NP:
    case PTHREAD_MUTEX_ADAPTIVE_NP: return mutex_kind::anybodys;
    case PTHREAD_MUTEX_RECURSIVE_NP:
    case PTHREAD_MUTEX_ERRORCHECK_NP: return mutex_kind::owned;
    default: return mutex_kind::other;
  }
}

[[nodiscard]] inline bool is_recursive(pthread_mutex_t const& mutex) noexcept {
  return (bits_of(mutex) & 3) == PTHREAD_MUTEX_RECURSIVE_NP;
}

// The number of the thread that has locked it; 0: nobody has, or not yet, or no more.
[[nodiscard]] inline int owner_of(pthread_mutex_t const& mutex) noexcept { return rt::hint_of(mutex.__data.__owner); }

// How many times its owner, who asks, has locked a recursive one.
[[nodiscard]] inline unsigned depth_of(pthread_mutex_t const& mutex) noexcept { return mutex.__data.__count; }

[[nodiscard]] inline bool is_shared(pthread_cond_t const& condition) noexcept {
  return (rt::hint_of(condition.__data.__wrefs) & 1U) != 0;
}

inline constexpr clockid_t wall_clock = 0;

// The one by which its limits are meant.
[[nodiscard]] inline clockid_t clock_of(pthread_cond_t const& condition) noexcept {
  return (rt::hint_of(condition.__data.__wrefs) & 2U) != 0 ? CLOCK_MONOTONIC : wall_clock;
}

}  // namespace thrum::posix
