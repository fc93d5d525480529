// The runtime's own lock: a futex mutex of three states that spins briefly before it sleeps.
//
//   0 free                            acquire: 0 -> 1               release: 1 -> 0
//   1 held                            a waiter: any -> 2, sleeps    release: 2 -> 0, wakes one waiter
//   2 held, and a waiter may sleep
//
// Invariants
//   1. A waiter sets 2 before it sleeps. A waiter that was woken takes the lock by setting 2, because it cannot know
//      whether other waiters sleep. So release needs no count of waiters. The price is one superfluous futex_wake after
//      the last waiter.
//   2. Debug builds check the order of base/lock_rank.h before they wait, so that a wrong order is reported and does
//      not hang. They also check that the thread that releases the lock is the one that acquired it. try_acquire has to
//      follow the same order.
//   3. release() does not access the lock after its exchange. A futex_wake may follow, which uses only the address. So
//      the next thread that gets the lock may destroy it (T14).
//
// It blocks the thread. So the critical section must be short, must not allocate (T01) and must not contain user code.
// A goroutine may take the lock and switch away, and the goroutine that the thread switches to may release it, because
// both run on one thread.
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
    // pairs with take() and acquire_slow(): the next holder sees what was done under the lock
    if (word_.exchange(free, thrum::rt::release) == held_with_sleepers) wake_one();
  }

  // Checks in debug builds that the calling thread holds the lock.
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
    // acquire: pairs with release()'s exchange; relaxed on failure, because nothing follows from it
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
