#include "stack/stack_cache.h"

#include "base/check.h"

#include <algorithm>

namespace thrum::rt {

bool stack_cache::refill(stack_pool& pool) noexcept {
  std::uint32_t got = half;
  stack* list = pool.allocate_batch(got);
  // The first stack of the list was used last. It goes to the end of the array, because take() begins there.
  for (count_ = got; got > 0; list = list->next) {
    stacks_[--got] = list;
    // Prefetches the lines of the first frames, because with thousands of stacks they are not in the CPU's cache.
    for (unsigned line = 1; line <= 4; ++line) __builtin_prefetch(list->top - line * cache_line_bytes, 1);
  }
  return count_ > 0;
}

void stack_cache::flush(stack_pool& pool) noexcept {
  if (count_ > 0) release_oldest(pool, count_);
}

void stack_cache::release_oldest(stack_pool& pool, std::uint32_t count) noexcept {
  THRUM_DCHECK(count > 0 && count <= count_);
  // Links them so that the youngest comes first, because the pool hands them out from the front.
  stack* list = nullptr;
  for (std::uint32_t i = 0; i < count; ++i) {
    stacks_[i]->next = list;
    list = stacks_[i];
  }
  std::copy(stacks_.begin() + count, stacks_.begin() + count_, stacks_.begin());
  count_ -= count;
  pool.release_batch(list, count);
}

}  // namespace thrum::rt
