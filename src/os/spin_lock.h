// The lock of a channel: taken by an exchange, released by a plain store.
//
// An uncontended pair costs one read-modify-write where os::lock needs two, and a channel is locked twice per element. In
// exchange a waiter cannot be woken by the kernel: it looks again after ever longer pauses, and lets other threads run in
// between, since the holder may be off its CPU. So what is guarded must be shorter still than under os::lock: some tens of
// nanoseconds. T01 keeps the holder from being preempted by us.
//
// A goroutine may take it, switch away and leave the release to the one who arrives: same thread.
#pragma once

#include "base/atomic.h"
#include "base/lock_rank.h"

#include <cstdint>

namespace thrum::rt::os {

// How the lock counts in the order of ranks: a select holds many locks of one rank, taken in the order of their addresses.
enum class ranked : bool { no, yes };

class spin_lock {
 public:
  explicit constexpr spin_lock(lock_rank rank) noexcept : rank_(rank) {}
  spin_lock(spin_lock const&) = delete;
  spin_lock& operator=(spin_lock const&) = delete;

  void acquire(ranked how = ranked::yes) noexcept {
    if (how == ranked::yes) rank_acquired(rank_);
    // acquire pairs with release(): what was done under the lock is seen by the next holder
    if (held_.exchange(1, thrum::rt::acquire) != 0) acquire_slow();
  }

  void release(ranked how = ranked::yes) noexcept {
    if (how == ranked::yes) rank_released(rank_);
    held_.store(0, thrum::rt::release);  // pairs with acquire()'s exchange
  }

 private:
  void acquire_slow() noexcept;

  atomic<std::uint32_t> held_{0};
  lock_rank rank_;
};

}  // namespace thrum::rt::os
