// Mutexes that belong to somebody: recursive and errorcheck.
//
// For glibc that is a thread. But several goroutines share one: a second one would be let in (recursive), or be told that it has it
// already (errorcheck). So for as long as a goroutine has such a mutex, a record in the bucket of its address says which one. And glibc asks
// at the unlock whether it is the same thread: the goroutine is at home from the lock to the unlock (sched/home.h).
//
// glibc's mutex is the truth here as well: a record holds only as long as the mutex's owner is the thread that the record names. One that was
// left behind, by a goroutine that has ended with the mutex in its hands for example, means nothing once another mutex is there. Until then that mutex is locked for good, as one
// that a thread has taken along when it ended. What a run has left behind means nothing to the next one: there the mutex is its thread's.
#pragma once

#include "posix_locks/stand.h"

#include <cstdint>

#include <pthread.h>

namespace thrum::posix {

struct owned_mutex {
  owned_mutex* next = nullptr;
  void const* address = nullptr;
  std::uint64_t goroutine = 0;  // its number, which the next run gives again
  int thread = 0;
  std::uint32_t epoch = 0;  // the run's
};

// All on a goroutine, inside the runtime, under the bucket's lock.
enum class ownership : std::uint8_t { free_or_threads, mine, anothers };
[[nodiscard]] ownership look_at_owner(address_bucket& bucket, pthread_mutex_t const& mutex) noexcept;
// From now on mine. False: no memory.
[[nodiscard]] bool note_owner(address_bucket& bucket, pthread_mutex_t const& mutex) noexcept;
// It was mine.
void forget_owner(address_bucket& bucket, pthread_mutex_t const& mutex) noexcept;

// After a fork, before the child has another thread.
void forget_owners_in_child() noexcept;

}  // namespace thrum::posix
