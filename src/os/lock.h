// The runtime's own lock: a futex mutex of three states that spins briefly before it sleeps.
//
//   0 free      acquire: 0 -> 1             release: 1 -> 0
//   1 held      a waiter: any -> 2, sleeps  release: 2 -> 0 and wakes one
//   2 held, and somebody may sleep
//
// Invariants
//   1. Whoever sleeps has set 2 first, and whoever was woken takes the lock with 2: it cannot know whether
//      others still sleep. So release never needs a count, at the price of one superfluous wake per crowd.
//   2. Ranks: debug builds check base/lock_rank.h's order, before they wait (the error is reported, not the
//      hang), and that the thread which releases is the one that acquired. try_acquire is held to the same
//      order.
//   3. After the exchange in release() the lock is not touched; what may follow is a futex_wake of its
//      address. So whoever gets the lock next may destroy it (decision 15).
//
// It blocks the thread, so what it guards must be short, must not allocate (T01), and is never held while a
// goroutine runs user code. A goroutine may take it, switch away and leave the release to the one who
// arrives: same thread.
#pragma once

#include "base/atomic.h"
#include "base/check.h"
#include "base/lock_rank.h"

#include <cstdint>

namespace thrum::rt::os {

class lock {
 public:
  explicit constexpr lock(lock_rank rank) noexcept : rank_(rank) {}
  lock(lock const&) = delete;
  lock& operator=(lock const&) = delete;

  void acquire() noexcept {
    rank_acquired(rank_);
    if (!take()) acquire_slow();
    owned();
  }

  [[nodiscard]] bool try_acquire() noexcept {
    if (!take()) return false;
    rank_acquired(rank_);
    owned();
    return true;
  }

  void release() noexcept {
    disowned();
    rank_released(rank_);
    // pairs with take() and acquire_slow(): what was done under the lock is seen by the next holder
    if (word_.exchange(free, thrum::rt::release) == held_with_sleepers) wake_one();
  }

  // In debug builds: the calling thread holds it.
  void assert_held() const noexcept {
#if THRUM_DEBUG_CHECKS
    THRUM_CHECK(owner_.load(relaxed) == this_thread());  // relaxed: only this thread writes its own mark
#endif
  }

 private:
  static constexpr std::uint32_t free = 0;
  static constexpr std::uint32_t held = 1;
  static constexpr std::uint32_t held_with_sleepers = 2;

  [[nodiscard]] bool take() noexcept {
    std::uint32_t expected = free;
    // pairs with release()'s exchange; relaxed on failure: nothing is concluded from it
    return word_.compare_exchange(expected, held, thrum::rt::acquire, relaxed);
  }

  void acquire_slow() noexcept;
  void wake_one() noexcept;

#if THRUM_DEBUG_CHECKS
  static void const* this_thread() noexcept;
  void owned() noexcept { owner_.store(this_thread(), relaxed); }
  void disowned() noexcept {
    assert_held();
    owner_.store(nullptr, relaxed);
  }
#else
  void owned() noexcept {}
  void disowned() noexcept {}
#endif

  atomic<std::uint32_t> word_{free};
  lock_rank rank_;
#if THRUM_DEBUG_CHECKS
  atomic<void const*> owner_{nullptr};
#endif
};

class [[nodiscard]] lock_guard {
 public:
  explicit lock_guard(lock& guarded) noexcept : guarded_(guarded) { guarded_.acquire(); }
  ~lock_guard() { guarded_.release(); }
  lock_guard(lock_guard const&) = delete;
  lock_guard& operator=(lock_guard const&) = delete;

 private:
  lock& guarded_;
};

}  // namespace thrum::rt::os
