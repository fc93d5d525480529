// The times at which timers are due: a 4-ary min-heap of 16-byte entries.
//
// Four children instead of two halve the depth, and the storage is laid out so that the four children are one cache
// line. So a pop touches one cache line per level. The only cost of a sleeping goroutine is its entry here, 16 bytes.
//
// Memory comes from the system, never from malloc (T01), and is kept. It grows by doubling. The kernel moves the pages
// then, because copying millions of entries would keep the other threads waiting for the lock of the heap for long. A
// push never fails, because the caller has made room before.
//
// Passive and not synchronised: the heap is protected by a lock of its user (core/p_timers.h). Only has_room may be
// called without the lock, by the thread that pushes, because other threads can only take entries out.
#pragma once

#include "base/atomic.h"
#include "base/check.h"

#include <cstddef>
#include <cstdint>
#include <limits>

namespace thrum::rt {

struct G;
struct timer_record;

// never_ns means "no time". latest_ns is the latest time there is, 292 years after the machine was started. A duration
// that would reach beyond it ends there.
inline constexpr std::int64_t never_ns = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t latest_ns = never_ns - 1;

// Returns now + delay, without overflow. A delay that is not positive ends at once.
[[nodiscard]] constexpr std::int64_t time_after(std::int64_t now_ns, std::int64_t delay_ns) noexcept {
  if (delay_ns <= 0) return now_ns;
  return delay_ns < latest_ns - now_ns ? now_ns + delay_ns : latest_ns;
}

struct timer_entry {
  std::int64_t when_ns;
  std::uintptr_t target;  // a G that sleeps; with bit 0 set: a timer_record

  static timer_entry of(std::int64_t when_ns, G& sleeper) noexcept {
    return {when_ns, reinterpret_cast<std::uintptr_t>(&sleeper)};
  }
  static timer_entry of(std::int64_t when_ns, timer_record& record) noexcept {
    return {when_ns, reinterpret_cast<std::uintptr_t>(&record) | 1U};
  }
  [[nodiscard]] bool is_record() const noexcept { return (target & 1U) != 0; }
  [[nodiscard]] G& sleeper() const noexcept { return *reinterpret_cast<G*>(target); }
  [[nodiscard]] timer_record& record() const noexcept {
    return *reinterpret_cast<timer_record*>(target & ~std::uintptr_t{1});
  }
};
static_assert(sizeof(timer_entry) == 16);

class timer_heap {
 public:
  timer_heap() noexcept = default;
  timer_heap(timer_heap const&) = delete;
  timer_heap& operator=(timer_heap const&) = delete;
  ~timer_heap();

  // relaxed: written under the lock; the header comment says which thread may read it without
  [[nodiscard]] std::uint32_t size() const noexcept { return size_.load(relaxed); }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }

  [[nodiscard]] bool has_room(std::uint32_t entries) const noexcept { return capacity_ - size() >= entries; }
  // Makes room for so many more entries. Returns false if there is no memory.
  [[nodiscard]] bool make_room(std::uint32_t entries) noexcept;

  void push(timer_entry e) noexcept {
    std::uint32_t const count = size();
    THRUM_DCHECK(count < capacity_);
    size_.store(count + 1, relaxed);
    rise(root + count, e);
  }

  [[nodiscard]] timer_entry const& first() const noexcept { return slots_[root]; }
  timer_entry pop() noexcept;
  // Takes the entry in the last place, whatever its time is. This is the cheapest way to empty a heap.
  timer_entry take_last() noexcept {
    std::uint32_t const last = size() - 1;
    size_.store(last, relaxed);
    return slots_[root + last];
  }

  // Takes out all entries for which is_dead(entry) is true, and returns how many there were. Costs about as much as a
  // look at every entry.
  template <class IsDead>
  std::uint32_t remove_if(IsDead is_dead) noexcept {
    std::uint32_t const end = root + size();
    std::uint32_t kept = root;
    for (std::uint32_t i = root; i < end; ++i) {
      if (!is_dead(slots_[i])) slots_[kept++] = slots_[i];
    }
    if (kept == end) return 0;
    size_.store(kept - root, relaxed);
    restore_order();
    return end - kept;
  }

  // Entries by place, from 0 to size() - 1. Parents have smaller places than their children.
  [[nodiscard]] timer_entry const& at(std::uint32_t place) const noexcept { return slots_[root + place]; }
  // Takes one entry out. Entries in larger places may move, and so may those between this place and the first: each of
  // them moves one level down, so this place may afterwards hold an entry that had a smaller place.
  void remove(std::uint32_t place) noexcept;

  template <class F>
  void for_each(F visit) const noexcept {
    for (std::uint32_t i = root; i < root + size(); ++i) visit(slots_[i]);
  }

 private:
  // With the root in slot 3 the children of slot i are 4(i-2) to 4(i-2)+3: slots 4 to 7, 8 to 11, and so on, one cache
  // line each.
  static constexpr std::uint32_t root = 3;
  static constexpr std::uint32_t first_child(std::uint32_t parent) noexcept { return (parent - 2) * 4; }
  static constexpr std::uint32_t parent_of(std::uint32_t child) noexcept { return child / 4 + 2; }

  // Returns the place of the earliest of four entries that all exist.
  [[nodiscard]] std::uint32_t earliest_of_four(std::uint32_t first) const noexcept {
    timer_entry const* const child = slots_ + first;
    std::uint32_t const left = child[1].when_ns < child[0].when_ns ? 1 : 0;
    std::uint32_t const right = child[3].when_ns < child[2].when_ns ? 3 : 2;
    return first + (child[right].when_ns < child[left].when_ns ? right : left);
  }
  // Prefetches the cache lines of all sixteen grandchildren below a line of four while these four are compared. In a
  // heap that is larger than the cache, two levels then cost one cache miss.
  void prefetch_below(std::uint32_t first) const noexcept {
    timer_entry const* const below = slots_ + first_child(first);
    for (unsigned line = 0; line < 4; ++line) __builtin_prefetch(below + 4 * line);
  }
  [[nodiscard]] std::uint32_t earliest_child(std::uint32_t first, std::uint32_t end) const noexcept;

  void rise(std::uint32_t hole, timer_entry e) noexcept {
    while (hole != root) {
      std::uint32_t const parent = parent_of(hole);
      if (slots_[parent].when_ns <= e.when_ns) break;
      slots_[hole] = slots_[parent];
      hole = parent;
    }
    slots_[hole] = e;
  }
  void sink(std::uint32_t hole, timer_entry e, std::uint32_t end) noexcept;
  void restore_order() noexcept;

  atomic<std::uint32_t> size_{0};
  std::uint32_t capacity_ = 0;
  timer_entry* slots_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace thrum::rt
