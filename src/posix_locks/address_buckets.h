// The buckets of mutexes and condition variables of the C library, by their address. A bucket has a lock, the
// goroutines that wait for one of its addresses (lock_waiters.h), and the records of its mutexes that goroutines own
// (owners.h).
//
// The buckets exist as long as the process, because threads may use them before and after every run. A child of fork
// resets them (lock_waiters.cpp).
#pragma once

#include "base/atomic.h"
#include "core/status.h"
#include "os/lock.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace thrum::posix {

class lock_waiter;
struct bucket_walk;
struct owned_mutex;

struct alignas(rt::cache_line_bytes) address_bucket {
  rt::os::lock lock{rt::lock_rank::descriptor};
  std::uint32_t chosen = 0;  // how many of the waiters are chosen
  // Under the lock. Whether `first` is null is also read without the lock.
  rt::atomic<lock_waiter*> first{nullptr};
  lock_waiter* last = nullptr;
  lock_waiter* unchosen = nullptr;  // all waiters before it are chosen; nullptr: all waiters are
  std::uint64_t entered = 0;        // how many waiters have entered
  bucket_walk* walks = nullptr;     // the list of walks that are under way
  owned_mutex* owned = nullptr;     // the list of records of mutexes that goroutines own (owners.h)
};

enum class waited_object : bool { mutex, condition };

// Waiters for mutexes and waiters for condition variables have separate buckets. There may be many waiters for
// conditions, for a long time, and every unlock looks whether its bucket is empty.
inline constexpr unsigned bucket_bits = 10;
inline constexpr std::size_t buckets_of_each = std::size_t{1} << bucket_bits;
extern std::array<address_bucket, 2 * buckets_of_each> address_buckets;

[[nodiscard]] inline address_bucket& bucket_of(void const* address, waited_object what) noexcept {
  auto const key = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(address));
  // Fibonacci hashing, because objects lie at regular distances.
  std::size_t const index = key * 0x9E3779B97F4A7C15U >> (64 - bucket_bits);
  return address_buckets[what == waited_object::mutex ? index : buckets_of_each + index];
}

// As bucket_of, for a caller that is about to take the bucket's lock. It notes that the buckets are in use, so that a
// child of fork resets them.
extern rt::atomic<bool> buckets_are_used;
[[nodiscard]] inline address_bucket& bucket_to_lock(void const* address, waited_object what) noexcept {
  if (!buckets_are_used.load(rt::relaxed)) [[unlikely]] {
    buckets_are_used.store(true, rt::relaxed);
    rt::store_load_fence();  // before the lock is taken, because another thread may fork at any moment after that
  }
  return bucket_of(address, what);
}

}  // namespace thrum::posix
