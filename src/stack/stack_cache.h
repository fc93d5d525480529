// A P's own few stacks of the default size: taking and putting one back costs no lock and no atomic.
//
// Last in, first out: the stack that was used last is still in the cache of this CPU. When it is full the
// older half goes to the pool, when it is empty half a cache of recycled ones comes from there, so that a P
// which only ends goroutines and one which only starts them exchange stacks at a sixteenth of a lock each.
//
// Owned by the P: only whoever holds the P calls it, on g0 or on a G. A goroutine that ends may put its own
// stack of the default size away while it still runs on it: the pool gets only older ones, and nobody else
// takes from this cache. A stack of another size goes to the pool, where every P can take it at once, so it
// must have been left.
#pragma once

#include "base/atomic.h"
#include "base/limits.h"
#include "stack/stack.h"
#include "stack/stack_pool.h"

#include <array>
#include <cstdint>

namespace thrum::rt {

class stack_cache {
 public:
  // A default-size stack, or nullptr when the pool has none and can map none.
  [[nodiscard]] stack* take(stack_pool& pool) noexcept {
    if (count_ == 0 && !refill(pool)) return nullptr;
    stack* const taken = stacks_[--count_];
    forget_frames(*taken);
    return taken;
  }

  // Takes a stack of any size back; those that are not of the default size go on to the pool at once.
  void put(stack_pool& pool, stack* one) noexcept {
    if (one->size != pool.default_size()) return pool.release(one);
    one->goroutine_id = 0;
    if (count_ == stack_cache_max) release_oldest(pool, half);
    stacks_[count_++] = one;
  }

  // All to the pool: the P goes away, or has been idle.
  void flush(stack_pool& pool) noexcept;

  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint32_t count_hint() const noexcept { return hint_of(count_); }  // anybody

 private:
  static constexpr std::uint32_t half = stack_cache_max / 2;

  bool refill(stack_pool& pool) noexcept;
  void release_oldest(stack_pool& pool, std::uint32_t count) noexcept;

  std::uint32_t count_ = 0;
  std::array<stack*, stack_cache_max> stacks_{};  // oldest first
};

}  // namespace thrum::rt
