// Entries of run queues, and lists of Gs.
//
// A plain entry names a G that will be there when it is popped. A claimable entry names a joinable goroutine that has not
// started: join() may claim it first and run it in place. The claim is one compare-and-swap of its status; the entry left
// behind holds a reference, so the record is not recycled under it. A locked entry names a goroutine that goes on only on its
// own thread, which sleeps in its frames (sched/own_thread.h). Queues store entries as words and never link through the G: by
// the time a stale entry is met, the G itself may be parked and readied through another queue.
#pragma once

#include "core/g.h"

#include <cstdint>

namespace thrum::rt {

using entry_bits = std::uintptr_t;  // a G; bit 0: claimable, bit 1: locked

class entry {
 public:
  constexpr entry() noexcept = default;
  static entry plain(G* g) noexcept { return entry(reinterpret_cast<entry_bits>(g)); }
  static entry claimable(G* g) noexcept { return entry(reinterpret_cast<entry_bits>(g) | 1U); }
  static entry locked(G* g) noexcept { return entry(reinterpret_cast<entry_bits>(g) | 2U); }
  // Of a goroutine that has run before and became runnable. One that is at home has none: see sched/home.h.
  static entry runnable(G& g) noexcept {
    return entry(reinterpret_cast<entry_bits>(&g) | static_cast<entry_bits>(g.detour.is_locked) << 1U);
  }
  static constexpr entry from_bits(entry_bits bits) noexcept { return entry(bits); }

  explicit operator bool() const noexcept { return bits_ != 0; }
  [[nodiscard]] bool is_claimable() const noexcept { return (bits_ & 1U) != 0; }
  [[nodiscard]] bool is_locked() const noexcept { return (bits_ & 2U) != 0; }
  [[nodiscard]] G* g() const noexcept { return reinterpret_cast<G*>(bits_ & ~entry_bits{3}); }
  [[nodiscard]] entry_bits bits() const noexcept { return bits_; }
  bool operator==(entry const&) const noexcept = default;

  // Nobody will run it through this entry any more: its joiner claimed it.
  [[nodiscard]] bool is_stale() const noexcept {
    return is_claimable() && g()->status.load(relaxed) != g_status::unstarted;  // relaxed: once stale, always stale
  }

 private:
  constexpr explicit entry(entry_bits bits) noexcept : bits_(bits) {}
  entry_bits bits_ = 0;
};

// The one race between starting a goroutine and joining it in place: exactly one side gets true.
[[nodiscard]] inline bool claim(G& g) noexcept {
  auto expected = g_status::unstarted;
  // acquire pairs with the release that published the entry or the handle: the callable is written.
  return g.status.compare_exchange(expected, g_status::running, acq_rel, relaxed);
}

// A singly linked queue of Gs, through their own link word; not synchronised.
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
