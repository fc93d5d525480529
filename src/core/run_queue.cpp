#include "core/run_queue.h"

#include "base/check.h"

namespace thrum::rt {

bool run_queue::overflow(entry e, entry_list& out) noexcept {
  std::uint32_t head = head_.load(acquire);
  std::uint32_t const count = tail_.load(relaxed) - head;
  std::uint32_t const half = capacity() / 2;
  if (count != capacity()) return false;
  std::array<entry_bits, ring_capacity_max / 2> batch;  // linked only once it is ours
  for (std::uint32_t i = 0; i < half; ++i) batch[i] = slot(head + i).load(relaxed);
  if (!head_.compare_exchange(head, head + half, acq_rel, relaxed)) return false;
  for (std::uint32_t i = 0; i < half; ++i) out.push_back(entry::from_bits(batch[i]));
  out.push_back(e);
  return true;
}

bool run_queue::drop_stale(entry_list& stale) noexcept {
  std::uint32_t head = head_.load(acquire);
  std::uint32_t const tail = tail_.load(relaxed);
  std::uint32_t const count = tail - head;
  std::uint32_t found = 0;
  for (std::uint32_t i = head; i != tail; ++i) found += entry::from_bits(slot(i).load(relaxed)).is_stale() ? 1U : 0U;
  // A quarter: a walk over the ring is then paid by at least that many puts.
  if (found < capacity() / 4) return count < capacity();
  std::array<entry_bits, ring_capacity_max> kept;
  for (std::uint32_t i = 0; i < count; ++i) kept[i] = slot(head + i).load(relaxed);
  if (!head_.compare_exchange(head, tail, acq_rel, relaxed)) return true;  // a thief made room
  std::uint32_t end = tail;
  for (std::uint32_t i = 0; i < count; ++i) {
    entry const e = entry::from_bits(kept[i]);
    if (e.is_stale()) {
      stale.push_back(e);
    } else {
      slot(end++).store(e.bits(), relaxed);
    }
  }
  tail_.store(end, release);  // pairs with grab's acquire
  return true;
}

entry run_queue::steal_half_from(run_queue& victim) noexcept {
  std::uint32_t const tail = tail_.load(relaxed);  // our own
  for (;;) {
    std::uint32_t head = victim.head_.load(acquire);              // pairs with other thieves' moves
    std::uint32_t const victim_tail = victim.tail_.load(acquire);  // pairs with put: the slots below it are written
    std::uint32_t const count = victim_tail - head;
    std::uint32_t const take = count - count / 2;
    if (take == 0) return {};
    if (take > victim.capacity() / 2) continue;  // head and tail are from different moments: read again
    for (std::uint32_t i = 0; i < take; ++i) slot(tail + i).store(victim.slot(head + i).load(relaxed), relaxed);
    // release pairs with the owner's acquire in put: it may overwrite the slots only after we have read them.
    if (!victim.head_.compare_exchange(head, head + take, acq_rel, relaxed)) continue;
    entry const to_run = entry::from_bits(slot(tail + take - 1).load(relaxed));
    THRUM_DCHECK(tail - head_.load(relaxed) + take - 1 <= capacity());
    if (take > 1) tail_.store(tail + take - 1, release);  // pairs with the next thief's acquire
    return to_run;
  }
}

}  // namespace thrum::rt
