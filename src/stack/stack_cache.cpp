#include "stack/stack_cache.h"

#include "base/check.h"

#include <algorithm>

namespace thrum::rt {

bool stack_cache::refill(stack_pool& pool) noexcept {
  std::uint32_t got = half;
  stack* list = pool.allocate_batch(got);
  // The list's first is the hottest: it is to be taken first, so it goes to the end.
  for (count_ = got; got > 0; list = list->next) {
    stacks_[--got] = list;
    // The first frames: of thousands of stacks none is in the cache by itself.
    for (unsigned line = 1; line <= 4; ++line) __builtin_prefetch(list->top - line * cache_line_bytes, 1);
  }
  return count_ > 0;
}

void stack_cache::flush(stack_pool& pool) noexcept {
  if (count_ > 0) release_oldest(pool, count_);
}

void stack_cache::release_oldest(stack_pool& pool, std::uint32_t count) noexcept {
  THRUM_DCHECK(count > 0 && count <= count_);
  // Linked so that the youngest of them comes first: the pool hands them out from there.
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
