// A P's own few stacks of the default size. Taking a stack and putting it back needs no lock and no atomic.
//
// The order is last in, first out, because the stack that was used last is probably in the cache of this CPU. A full
// cache sends its older half to the pool. An empty cache gets up to half a cache of recycled stacks from there. So if
// one P only ends goroutines and another one only starts them, they exchange stacks at the cost of one lock operation
// per sixteen stacks.
//
// Only the M that holds the P calls these functions, on g0 or on a goroutine's stack.
//
// A goroutine that ends may put its own stack away while it runs on it, if it has the default size: the pool gets only
// older stacks, and no other M takes from this cache. A stack of another size goes to the pool, where every P can take
// it at once, so the goroutine must have left it.
#pragma once

#include "base/atomic.h"
#include "base/heuristics.h"
#include "stack/stack.h"
#include "stack/stack_pool.h"

#include <array>
#include <cstdint>

namespace thrum::rt {

class stack_cache {
 public:
  // A stack of the default size, or nullptr if the pool has none and can map none.
  [[nodiscard]] stack* take(stack_pool& pool) noexcept {
    if (count_ == 0 && !refill(pool)) return nullptr;
    stack* const taken = stacks_[--count_];
    forget_frames(*taken);
    return taken;
  }

  // Takes back a stack of any size. A stack that does not have the default size goes to the pool at once.
  void put(stack_pool& pool, stack* one) noexcept {
    if (one->size != pool.default_size()) return pool.release(one);
    one->goroutine_id = 0;
    if (count_ == stack_cache_max) release_oldest(pool, half);
    stacks_[count_++] = one;
  }

  // Sends all stacks to the pool, because the P is removed or has been idle.
  void flush(stack_pool& pool) noexcept;

  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint32_t count_hint() const noexcept { return hint_of(count_); }  // for any thread

 private:
  static constexpr std::uint32_t half = stack_cache_max / 2;

  bool refill(stack_pool& pool) noexcept;
  void release_oldest(stack_pool& pool, std::uint32_t count) noexcept;

  std::uint32_t count_ = 0;
  std::array<stack*, stack_cache_max> stacks_{};  // oldest first
};

}  // namespace thrum::rt
