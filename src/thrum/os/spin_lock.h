// A spin lock, used for channels for example. It is taken by an exchange and released by a plain store.
//
// If there is no contention, taking and releasing it costs one read-modify-write, where os::lock needs two. A channel
// is locked twice per element, so that counts. In return, the kernel cannot wake a waiter. The waiter looks at the lock
// after longer and longer pauses, and lets other threads run in between, because the holder may not be running. So the
// critical section must be even shorter than under os::lock: some tens of nanoseconds. thrum does not preempt the
// holder (T01).
//
// A goroutine may take the lock and switch away, and the goroutine that the thread switches to may release it, because
// both run on one thread.
#pragma once

#include "base/atomic.h"
#include "base/lock_rank.h"

#include <cstdint>

namespace thrum::rt::os {

// Whether this lock is checked against the order of ranks. A select holds many locks of one rank, which it takes in the
// order of their addresses, so only one of them is checked.
enum class ranked : bool { no, yes };

class spin_lock {
 public:
  explicit constexpr spin_lock(lock_rank rank) noexcept : rank_(rank) {}
  spin_lock(spin_lock const&) = delete;
  spin_lock& operator=(spin_lock const&) = delete;

  void acquire(ranked how = ranked::yes) noexcept {
    if (how == ranked::yes) rank_acquired(rank_);
    // acquire: pairs with release(), so that the next holder sees what was done under the lock
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
