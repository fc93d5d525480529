#include "core/run_queue.h"

#include "base/check.h"

namespace thrum::rt {

entry run_queue::steal_half_from(run_queue& victim) noexcept {
  std::uint32_t const tail = tail_.load(relaxed);  // relaxed: only this thread writes it
  for (;;) {
    std::uint32_t head = victim.head_.load(acquire);               // pairs with other thieves' moves
    std::uint32_t const victim_tail = victim.tail_.load(acquire);  // pairs with put: the slots below it are written
    std::uint32_t const count = victim_tail - head;
    std::uint32_t const take = count - count / 2;
    if (take == 0) return {};
    // head and tail are from different moments, so they are read once more
    if (take > victim.capacity() / 2) continue;
    for (std::uint32_t i = 0; i < take; ++i) slot(tail + i).store(victim.slot(head + i).load(relaxed), relaxed);
    // release pairs with the owner's acquire in put: the owner may overwrite the slots only after they were read here.
    if (!victim.head_.compare_exchange(head, head + take, acq_rel, relaxed)) continue;
    entry const to_run = entry::from_bits(slot(tail + take - 1).load(relaxed));
    THRUM_DCHECK(tail - head_.load(relaxed) + take - 1 <= capacity());
    if (take > 1) tail_.store(tail + take - 1, release);  // pairs with the next thief's acquire
    return to_run;
  }
}

}  // namespace thrum::rt
