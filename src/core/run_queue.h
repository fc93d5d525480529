// A P's run queue: a ring of at most 256 entries and the slot `runnext` (S07, S08, S12).
//
// The owner P puts at the tail and takes at the head; thieves take at the head. No locks.
//
// Invariants:
//  1. Only the owner writes `tail_` and the slots; a slot is written before the tail that covers it is published.
//  2. `head_` only grows, by compare-and-swap: whoever moves it owns the entries it passed. A thief reads the slots
//     first and moves the head afterwards; if the head moved meanwhile, what it read is void.
//  3. tail_ - head_ <= capacity; both wrap around freely, the ring index is the low bits.
//  4. `runnext_` is one entry outside the ring that the owner runs next. Thieves may take it, in their last round only:
//     a goroutine that was just readied by its neighbour is best left alone for the moment the neighbour needs to block.
//  5. With one P there are no thieves (has_thieves_), and the owner's read-modify-writes become plain ones. The flag changes
//     only while the world is stopped, so the owner never sees it change between two steps.
#pragma once

#include "base/atomic.h"
#include "base/check.h"
#include "base/limits.h"
#include "core/entry.h"

#include <array>
#include <cstdint>

namespace thrum::rt {

class run_queue {
 public:
  enum class put_result : std::uint8_t { done, full };

  explicit run_queue(std::uint32_t capacity = ring_capacity_max) noexcept : mask_(capacity - 1) {}

  // Only while nobody uses it.
  void set_has_thieves(bool thieves) noexcept { has_thieves_ = thieves || is_randomised_; }
  // Also only then: THRUM_DEBUG=randomize=1. Asked for after has_thieves_, so that one P need not look twice.
  void set_randomised() noexcept { has_thieves_ = is_randomised_ = true; }
  [[nodiscard]] bool is_randomised() const noexcept { return has_thieves_ && is_randomised_; }

  // --- owner only ---

  // Makes e the next to run. Answers what stood there before: the caller puts it at the tail.
  // seq_cst: this is the publication that the wake-up protocol orders before its look at the spinning Ms (wake.h); without
  // other Ps there is nobody to wake.
  [[nodiscard]] entry swap_next(entry e) noexcept {
    if (has_thieves_) return entry::from_bits(next_.exchange(e.bits(), seq_cst));
    entry const before = peek_next();
    next_.store(e.bits(), relaxed);
    return before;
  }

  [[nodiscard]] entry take_next() noexcept {
    entry const next = peek_next();  // relaxed: only the owner sets it, thieves can but clear it
    if (!next) return {};
    if (has_thieves_) return entry::from_bits(next_.exchange(0, relaxed));  // relaxed: what is there we wrote ourselves
    next_.store(0, relaxed);
    return next;
  }

  // Takes e out of runnext if it still stands there.
  [[nodiscard]] bool remove_next(entry e) noexcept {
    auto expected = e.bits();
    return next_.load(relaxed) == expected && next_.compare_exchange(expected, 0, relaxed, relaxed);
  }

  [[nodiscard]] put_result put(entry e) noexcept {
    std::uint32_t const tail = tail_.load(relaxed);  // our own
    if (tail - head_seen_ > mask_) {
      head_seen_ = head_.load(acquire);  // pairs with the thieves' release: they have read the slots they passed
      if (tail - head_seen_ > mask_) return put_result::full;
    }
    slot(tail).store(e.bits(), relaxed);
    tail_.store(tail + 1,
                release);  // pairs with the thieves' acquire: the slot and the G are written before they are seen
    return put_result::done;
  }

  // Relaxed throughout: the slots are our own writes, and to move the head needs no more than that nobody else did.
  [[nodiscard]] entry pop() noexcept {
    std::uint32_t head = head_.load(relaxed);
    for (;;) {
      if (tail_.load(relaxed) == head) return {};
      entry const e = at(head);
      if (!has_thieves_) {
        head_.store(head + 1, relaxed);
        return e;
      }
      if (head_.compare_exchange_weak(head, head + 1, relaxed, relaxed)) return e;
    }
  }

  // Fetches what the owner will need for its next two goroutines while it runs this one: the record of the second, and
  // the stack of the first, whose record came with the last call. With thousands of goroutines nothing of that is in the
  // cache by itself. Only hints: a thief may have taken them.
  void prefetch() const noexcept {
    std::uint32_t const head = head_.load(relaxed);
    std::uint32_t const waiting = tail_.load(relaxed) - head;
    if (waiting < 4) return;  // a few goroutines stay in the cache anyway
    auto const* const second = reinterpret_cast<char const*>(at(head + 1).g());
    __builtin_prefetch(second, 1);
    __builtin_prefetch(second + cache_line_bytes);
    if constexpr (!with_tsan) {
      auto const frame = reinterpret_cast<std::uintptr_t>(hint_of(at(head).g()->saved.sp));
      for (unsigned line = 0; line < 4; ++line) {
        __builtin_prefetch(reinterpret_cast<void const*>(frame + line * cache_line_bytes), 1);
      }
    }
  }

  // Whether the owner has nothing to run here: a thief can only make it emptier.
  [[nodiscard]] bool is_empty_to_owner() const noexcept {
    return next_.load(relaxed) == 0 && tail_.load(relaxed) == head_.load(relaxed);
  }

  // For a full ring: takes its older half out, as the indices [first, first + capacity/2) of `at`, which stay valid until
  // the next put. False if a thief came first: there is room now.
  [[nodiscard]] bool claim_older_half(std::uint32_t& first) noexcept {
    first = head_.load(acquire);
    if (tail_.load(relaxed) - first != capacity()) return false;
    return head_.compare_exchange(first, first + capacity() / 2, acq_rel, relaxed);
  }
  [[nodiscard]] entry at(std::uint32_t index) const noexcept { return entry::from_bits(slot(index).load(relaxed)); }

  // For a full ring: takes the entries of goroutines that were joined in place out of it and calls drop(G&) for each,
  // if they are worth the walk; the others keep their order. Answers whether there is room now.
  template <class Drop>
  [[nodiscard]] bool drop_stale(Drop drop) noexcept {
    std::uint32_t head = head_.load(acquire);
    std::uint32_t const tail = tail_.load(relaxed);
    std::uint32_t found = 0;
    for (std::uint32_t i = head; i != tail; ++i) found += at(i).is_stale() ? 1U : 0U;
    // A quarter: the walk is then paid by at least that many puts.
    if (found < capacity() / 4) return tail - head < capacity();
    if (!head_.compare_exchange(head, tail, acq_rel, relaxed)) return true;  // a thief made room
    // All entries are ours now. They move up behind the old tail, never past what is still to be read.
    std::uint32_t end = tail;
    for (std::uint32_t i = head; i != tail; ++i) {
      entry const e = at(i);
      if (e.is_stale()) {
        drop(*e.g());
      } else {
        slot(end++).store(e.bits(), relaxed);
      }
    }
    tail_.store(end, release);  // pairs with the thieves' acquire
    return true;
  }

  // Steals half of the victim's ring into this (empty) one: the oldest ceil(n/2), from its head. The last of them is
  // answered, to be run; the rest is in the ring. Nothing to take: an empty entry.
  [[nodiscard]] entry steal_half_from(run_queue& victim) noexcept;

  // --- anybody ---

  [[nodiscard]] entry peek_next() const noexcept { return entry::from_bits(next_.load(relaxed)); }
  [[nodiscard]] bool steal_next(entry expected) noexcept {
    auto bits = expected.bits();
    return next_.compare_exchange(bits, 0, acq_rel, relaxed);  // acquire pairs with swap_next: the G is written
  }

  // Runnext and the ring.
  [[nodiscard]] std::uint32_t waiting() const noexcept { return size() + (peek_next() ? 1U : 0U); }

  // Ring only; exact for the owner, a moment's truth for others.
  [[nodiscard]] std::uint32_t size() const noexcept {
    std::uint32_t const head = head_.load(acquire);
    return tail_.load(acquire) - head;
  }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return mask_ + 1; }

  // Grows with every entry that leaves the ring: whoever looks twice learns whether those in it get on. relaxed: no more than that.
  [[nodiscard]] std::uint32_t taken() const noexcept { return head_.load(relaxed); }

  // seq_cst: the other half of the wake-up protocol, read after the P was given up. The order head, tail, next matters
  // as in Go's runqempty: a kicked-out runnext moves to the tail, so tail must be read before we believe in an empty ring
  // and next between two equal reads of tail.
  [[nodiscard]] bool looks_empty() const noexcept {
    for (;;) {
      std::uint32_t const head = head_.load(seq_cst);
      std::uint32_t const tail = tail_.load(seq_cst);
      entry_bits const next = next_.load(seq_cst);
      if (tail == tail_.load(seq_cst)) return head == tail && next == 0;
    }
  }

 private:
  [[nodiscard]] atomic<entry_bits>& slot(std::uint32_t index) noexcept { return slots_[index & mask_]; }
  [[nodiscard]] atomic<entry_bits> const& slot(std::uint32_t index) const noexcept { return slots_[index & mask_]; }

  // written by the owner and by thieves
  atomic<std::uint32_t> head_{0};
  // written by the owner, read by thieves
  atomic<std::uint32_t> tail_{0};
  atomic<entry_bits> next_{0};
  std::uint32_t const mask_;
  bool has_thieves_ = true;
  bool is_randomised_ = false;
  // owner only: a head that was true once; the real one is never behind it
  std::uint32_t head_seen_ = 0;
  std::array<atomic<entry_bits>, ring_capacity_max> slots_{};
};

}  // namespace thrum::rt
