// Mutexes with an owner: recursive and errorcheck.
//
// For glibc the owner is a thread. But several goroutines share a thread. A second goroutine on it could lock a
// recursive mutex that the first one holds, or would be told by an errorcheck mutex that it holds it already. So while
// a goroutine holds such a mutex, a record in the bucket of its address (address_buckets.h) names the goroutine. glibc
// also checks at the unlock that the thread is the same. So the goroutine is at home from the lock to the unlock
// (sched/home.h).
//
// glibc's mutex decides here as well: a record is valid only while the mutex's owner is the thread that the record
// names. If a goroutine ends while it holds the mutex, its record stays behind, and the mutex is locked for good, as if
// a thread had ended with it. The record becomes meaningless when another mutex is created at that address. Records of
// a run that is over mean nothing in the next run, where such a mutex belongs to its thread.
#pragma once

#include "posix_locks/address_buckets.h"

#include <cstdint>

#include <pthread.h>

namespace thrum::posix {

struct owned_mutex {
  owned_mutex* next = nullptr;
  void const* address = nullptr;
  std::uint64_t goroutine = 0;  // the goroutine's id, unique only within its run
  int thread = 0;
  std::uint32_t epoch = 0;  // the run's
};

// The functions below are called on a goroutine, inside the runtime, under the bucket's lock.
enum class ownership : std::uint8_t { free_or_threads, mine, anothers };
[[nodiscard]] ownership look_at_owner(address_bucket& bucket, pthread_mutex_t const& mutex) noexcept;
// Records the calling goroutine as the owner. Returns false if there is no memory.
[[nodiscard]] bool note_owner(address_bucket& bucket, pthread_mutex_t const& mutex) noexcept;
// Removes the record of the calling goroutine.
void forget_owner(address_bucket& bucket, pthread_mutex_t const& mutex) noexcept;

// Called in the child of a fork, before it has another thread.
void forget_owners_in_child() noexcept;

}  // namespace thrum::posix
