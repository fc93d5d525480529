// Entries of run queues, and lists of Gs.
//
// An entry is one word that names a G. There are three kinds:
//
//  - A plain entry names a G that cannot be taken away before the entry is popped.
//  - A claimable entry names a joinable goroutine that has not started. join() may claim the goroutine first and run it
//    in place. The claim is one compare-and-swap of the status. The entry that stays behind is stale; it holds a
//    reference, so the record is not recycled while the entry exists.
//  - An entry on its own thread names a goroutine that can continue only on its own thread, which sleeps in the
//    goroutine's frames, because the goroutine is locked or paused, or came back from a system call there
//    (sched/own_thread.h).
//
// Queues store entries as words and do not link through the G, because by the time a stale entry is popped, the G
// itself may have parked and be in another queue.
#pragma once

#include "core/g.h"
#include "core/push_key.h"

#include <cstdint>

namespace thrum::rt {

using entry_bits = std::uintptr_t;  // the address of a G; bit 0: claimable, bit 1: on its own thread

class entry {
 public:
  constexpr entry() noexcept = default;
  static entry plain(G* g) noexcept { return entry(reinterpret_cast<entry_bits>(g)); }
  static entry claimable(G* g) noexcept { return entry(reinterpret_cast<entry_bits>(g) | 1U); }
  static entry on_own_thread(G* g) noexcept { return entry(reinterpret_cast<entry_bits>(g) | 2U); }
  // The entry of a goroutine that has run before and became runnable. A goroutine that is at home has no entry: see
  // sched/home.h.
  static entry runnable(G& g) noexcept {
    return entry(reinterpret_cast<entry_bits>(&g) | static_cast<entry_bits>(g.detour.is_locked) << 1U);
  }
  static constexpr entry from_bits(entry_bits bits) noexcept { return entry(bits); }

  explicit operator bool() const noexcept { return bits_ != 0; }
  [[nodiscard]] bool is_claimable() const noexcept { return (bits_ & 1U) != 0; }
  [[nodiscard]] bool is_on_own_thread() const noexcept { return (bits_ & 2U) != 0; }
  [[nodiscard]] G* g() const noexcept { return reinterpret_cast<G*>(bits_ & ~entry_bits{3}); }
  [[nodiscard]] entry_bits bits() const noexcept { return bits_; }
  bool operator==(entry const&) const noexcept = default;

  // True if the joiner has claimed the goroutine, so that no M will run it through this entry.
  [[nodiscard]] bool is_stale() const noexcept {
    return is_claimable() && g()->status.load(relaxed) != g_status::unstarted;  // relaxed: once stale, always stale
  }

 private:
  constexpr explicit entry(entry_bits bits) noexcept : bits_(bits) {}
  entry_bits bits_ = 0;
};

// Decides the race between the M that starts a goroutine and the goroutine that joins it in place. Exactly one of the
// two gets true.
[[nodiscard]] inline bool claim(G& g) noexcept {
  auto expected = g_status::unstarted;
  // acquire pairs with the release that published the entry or the handle: the callable is written.
  return g.status.compare_exchange(expected, g_status::running, acq_rel, relaxed);
}

// A singly linked queue of Gs, linked through G::link. Not synchronised.
class g_list {
 public:
  [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }

  void push_back(G& g) noexcept {
    g.link = nullptr;
    (tail_ != nullptr ? tail_->link : head_) = &g;
    tail_ = &g;
    ++size_;
  }

  void push_front(G& g) noexcept {
    g.link = head_;
    head_ = &g;
    if (tail_ == nullptr) tail_ = &g;
    ++size_;
  }

  [[nodiscard]] G* front() const noexcept { return head_; }

  // Moves all Gs of `other` to the end of this list.
  void append(g_list& other) noexcept {
    if (other.empty()) return;
    (tail_ != nullptr ? tail_->link : head_) = other.head_;
    tail_ = other.tail_;
    size_ += other.size_;
    other = {};
  }

  template <class F>
  void for_each(F visit) const noexcept {
    for (G* g = head_; g != nullptr; g = g->link) visit(*g);
  }

  G* pop_front() noexcept {
    G* const first = head_;
    if (first != nullptr) {
      head_ = first->link;
      if (head_ == nullptr) tail_ = nullptr;
      --size_;
    }
    return first;
  }

 private:
  G* head_ = nullptr;
  G* tail_ = nullptr;
  std::uint32_t size_ = 0;
};

}  // namespace thrum::rt
