// Entries of run queues, and lists of them.
//
// A plain entry names a G that will be there when it is popped. A claimable entry names a joinable goroutine that has not
// started: join() may claim it first and run it in place. The claim is one compare-and-swap of its status; the entry left
// behind holds a reference, so the record is not recycled under it, and has a link word of its own, because by then the
// G itself may be parked and readied through another queue.
#pragma once

#include <cstdint>

#include "core/g.h"

namespace thrum::rt {

class entry {
 public:
  constexpr entry() noexcept = default;
  static entry plain(G* g) noexcept { return entry(reinterpret_cast<entry_bits>(g)); }
  static entry claimable(G* g) noexcept { return entry(reinterpret_cast<entry_bits>(g) | 1U); }
  static constexpr entry from_bits(entry_bits bits) noexcept { return entry(bits); }

  explicit operator bool() const noexcept { return bits_ != 0; }
  [[nodiscard]] bool is_claimable() const noexcept { return (bits_ & 1U) != 0; }
  [[nodiscard]] G* g() const noexcept { return reinterpret_cast<G*>(bits_ & ~entry_bits{1}); }
  [[nodiscard]] entry_bits bits() const noexcept { return bits_; }
  [[nodiscard]] entry_bits& link() const noexcept { return is_claimable() ? g()->entry_link : g()->link; }
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

// A singly linked queue of entries; not synchronised.
class entry_list {
 public:
  [[nodiscard]] bool empty() const noexcept { return !head_; }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }

  void push_back(entry e) noexcept {
    e.link() = 0;
    if (tail_) {
      tail_.link() = e.bits();
    } else {
      head_ = e;
    }
    tail_ = e;
    ++size_;
  }

  void push_front(entry e) noexcept {
    e.link() = head_.bits();
    head_ = e;
    if (!tail_) tail_ = e;
    ++size_;
  }

  entry pop_front() noexcept {
    entry const first = head_;
    if (first) {
      head_ = entry::from_bits(first.link());
      if (!head_) tail_ = entry();
      --size_;
    }
    return first;
  }

  void append(entry_list& other) noexcept {
    if (other.empty()) return;
    if (tail_) {
      tail_.link() = other.head_.bits();
    } else {
      head_ = other.head_;
    }
    tail_ = other.tail_;
    size_ += other.size_;
    other = entry_list();
  }

 private:
  entry head_;
  entry tail_;
  std::uint32_t size_ = 0;
};

}  // namespace thrum::rt
