// A P's run queue: a circular buffer of at most 256 entries, and the slot `runnext` (S07, S08, S12).
//
// The owner P puts at the tail and takes at the head. Thieves take at the head. There are no locks.
//
// Invariants:
//  1. Only the owner writes `tail_` and the slots. It writes a slot before it publishes the tail that covers the slot.
//  2. `head_` only grows, by compare-and-swap. The thread that moves it owns the entries it passed. A thief reads the
//     slots first and moves the head afterwards; if the head has moved meanwhile, the thief discards what it read.
//  3. tail_ - head_ <= capacity. Both counters wrap around freely; the low bits are the index into the buffer.
//  4. `next_`, which the rest of the source calls runnext, is one entry outside the buffer, which the owner runs next.
//     Thieves may take it, but only in their last round, because the goroutine that readied it usually blocks within a
//     moment, and then the owner runs it at once.
//  5. With one P there are no thieves (has_thieves_), so the owner uses plain loads and stores instead of
//     read-modify-writes. The flag changes only while the world is stopped, so the owner never sees it change between
//     two steps.
#pragma once

#include "base/atomic.h"
#include "base/check.h"
#include "base/limits.h"
#include "core/entry.h"
#include "core/push_key.h"

#include <array>
#include <cstdint>

namespace thrum::rt {

class run_queue {
 public:
  enum class put_result : std::uint8_t { done, full };

  explicit run_queue(std::uint32_t capacity = run_queue_capacity_max) noexcept : mask_(capacity - 1) {}

  // Only while no thread uses the queue.
  void set_has_thieves(bool thieves) noexcept { has_thieves_ = thieves || is_randomised_; }
  // Also only while no thread uses the queue. For THRUM_DEBUG=randomize=1. is_randomised() tests has_thieves_ first, so
  // with one P the owner has only one flag to test.
  void set_randomised() noexcept { has_thieves_ = is_randomised_ = true; }
  [[nodiscard]] bool is_randomised() const noexcept { return has_thieves_ && is_randomised_; }
  // False only if there is one P.
  [[nodiscard]] bool has_thieves() const noexcept { return has_thieves_; }

  // --- owner only ---

  // Makes e the next to run. Returns the entry that it replaces, which the caller puts at the tail. seq_cst: this is
  // the publication that the wake-up protocol orders before its look at the spinning Ms (wake.h). Without other Ps
  // there is no P to wake, so a relaxed store is enough.
  [[nodiscard]] entry swap_next(push_key, entry e) noexcept {
    if (has_thieves_) return entry::from_bits(next_.exchange(e.bits(), seq_cst));
    entry const before = peek_next();
    next_.store(e.bits(), relaxed);
    return before;
  }

  [[nodiscard]] entry take_next() noexcept {
    entry const next = peek_next();  // relaxed: only the owner sets it, and thieves can only clear it
    if (!next) return {};
    if (has_thieves_) return entry::from_bits(next_.exchange(0, relaxed));  // relaxed: the owner wrote it itself
    next_.store(0, relaxed);
    return next;
  }

  // Takes e out of runnext if it is there.
  [[nodiscard]] bool remove_next(entry e) noexcept {
    auto expected = e.bits();
    return next_.load(relaxed) == expected && next_.compare_exchange(expected, 0, relaxed, relaxed);
  }

  [[nodiscard]] put_result put(push_key, entry e) noexcept {
    std::uint32_t const tail = tail_.load(relaxed);  // relaxed: only the owner writes it
    if (tail - head_seen_ > mask_) {
      head_seen_ = head_.load(acquire);  // pairs with the thieves' release: they have read the slots they passed
      if (tail - head_seen_ > mask_) return put_result::full;
    }
    slot(tail).store(e.bits(), relaxed);
    // release pairs with the thieves' acquire: the slot and the G are written before a thief can see them.
    tail_.store(tail + 1, release);
    return put_result::done;
  }

  // Relaxed throughout: the owner wrote the slots itself, and moving the head only requires that no thief has moved it.
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

  // Prefetches what the owner needs for its next two goroutines while it runs the present one: the record of the
  // second, and the stack of the first, whose record the previous call fetched. With thousands of goroutines none of
  // that is in the cache otherwise. These are only hints, because a thief may have taken the goroutines.
  void prefetch() const noexcept {
    std::uint32_t const head = head_.load(relaxed);
    std::uint32_t const waiting = tail_.load(relaxed) - head;
    if (waiting < 4) return;  // a few goroutines stay in the cache without help
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

  // Whether the owner has nothing to run here. A true answer stays true until the owner puts something, because a thief
  // can only remove entries.
  [[nodiscard]] bool is_empty_to_owner() const noexcept {
    return next_.load(relaxed) == 0 && tail_.load(relaxed) == head_.load(relaxed);
  }

  // For a full buffer: takes its older half out, as the indices [first, first + capacity/2) of `at`, which stay valid
  // until the next put. Returns false if a thief took entries first, so that there is room.
  [[nodiscard]] bool claim_older_half(std::uint32_t& first) noexcept {
    first = head_.load(acquire);
    if (tail_.load(relaxed) - first != capacity()) return false;
    return head_.compare_exchange(first, first + capacity() / 2, acq_rel, relaxed);
  }
  [[nodiscard]] entry at(std::uint32_t index) const noexcept { return entry::from_bits(slot(index).load(relaxed)); }

  // For a full buffer: takes out the stale entries (of goroutines that were joined in place) and calls drop(G&) for
  // each. The others keep their order. Does nothing if fewer than a quarter of the entries are stale. Returns whether
  // there is room afterwards.
  template <class Drop>
  [[nodiscard]] bool drop_stale(Drop drop) noexcept {
    std::uint32_t head = head_.load(acquire);
    std::uint32_t const tail = tail_.load(relaxed);
    std::uint32_t found = 0;
    for (std::uint32_t i = head; i != tail; ++i) found += at(i).is_stale() ? 1U : 0U;
    // A quarter, so that at least that many puts share the cost of the walk.
    if (found < capacity() / 4) return tail - head < capacity();
    if (!head_.compare_exchange(head, tail, acq_rel, relaxed)) return true;  // a thief made room
    // All entries belong to the owner at this point. The live ones move behind the old tail, and never overwrite an
    // entry that has not been read.
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

  // Steals half of the victim's buffer into this one, which is empty: the oldest ceil(n/2) entries, from the victim's
  // head. Returns the last of them, to be run; the others are in this buffer. Returns an empty entry if there was
  // nothing to take.
  [[nodiscard]] entry steal_half_from(run_queue& victim) noexcept;

  // --- any thread ---

  [[nodiscard]] entry peek_next() const noexcept { return entry::from_bits(next_.load(relaxed)); }
  [[nodiscard]] bool steal_next(entry expected) noexcept {
    auto bits = expected.bits();
    return next_.compare_exchange(bits, 0, acq_rel, relaxed);  // acquire pairs with swap_next: the G is written
  }

  // Counts runnext and the buffer.
  [[nodiscard]] std::uint32_t waiting() const noexcept { return size() + (peek_next() ? 1U : 0U); }

  // Counts the buffer only. Exact for the owner; for other threads the number may be out of date at once.
  [[nodiscard]] std::uint32_t size() const noexcept {
    std::uint32_t const head = head_.load(acquire);
    return tail_.load(acquire) - head;
  }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return mask_ + 1; }

  // Grows with every entry that leaves the buffer, so two calls show whether the goroutines in it get their turns.
  // relaxed: it says nothing else.
  [[nodiscard]] std::uint32_t taken() const noexcept { return head_.load(relaxed); }

  // seq_cst: the other half of the wake-up protocol, called after the M has given up its P. The order head, tail, next
  // matters as in Go's runqempty: an entry that is displaced from runnext moves to the tail, so an empty answer is
  // valid only if next was read between two equal reads of tail.
  [[nodiscard]] bool looks_empty() const noexcept {
    for (;;) {
      std::uint32_t const head = head_.load(seq_cst);
      std::uint32_t const tail = tail_.load(seq_cst);
      entry_bits const next = next_.load(seq_cst);
      if (tail == tail_.load(seq_cst)) return head == tail && next == 0;
    }
  }

 private:
  friend struct debugger_rows;

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
  // owner only: a value that head_ has had; the present head_ is equal or ahead
  std::uint32_t head_seen_ = 0;
  std::array<atomic<entry_bits>, run_queue_capacity_max> slots_{};
};

}  // namespace thrum::rt
