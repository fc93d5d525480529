#include "core/timer_heap.h"

#include "os/memory.h"

#include <algorithm>

namespace thrum::rt {
namespace {

constexpr std::size_t bytes_first = 4096;                 // 253 entries
constexpr std::size_t bytes_max = std::size_t{1} << 34U;  // a thousand million timers: more than Gs fit into memory

}  // namespace

timer_heap::~timer_heap() {
  if (slots_ != nullptr) os::unmap(reinterpret_cast<char*>(slots_), bytes_);
}

bool timer_heap::make_room(std::uint32_t entries) noexcept {
  if (has_room(entries)) return true;
  std::size_t const needed = (std::size_t{root} + size() + entries) * sizeof(timer_entry);
  std::size_t bytes = std::max({bytes_ * 2, bytes_first, os::page_size()});
  while (bytes < needed) bytes *= 2;
  if (bytes > bytes_max) return false;
  auto const mapped = slots_ == nullptr ? os::map(bytes) : os::enlarge(reinterpret_cast<char*>(slots_), bytes_, bytes);
  if (mapped.address == nullptr) return false;
  slots_ = reinterpret_cast<timer_entry*>(mapped.address);
  bytes_ = bytes;
  capacity_ = static_cast<std::uint32_t>(bytes / sizeof(timer_entry)) - root;
  return true;
}

std::uint32_t timer_heap::earliest_child(std::uint32_t first, std::uint32_t end) const noexcept {
  std::uint32_t earliest = first;
  for (std::uint32_t i = first + 1; i < end; ++i) {
    if (slots_[i].when_ns < slots_[earliest].when_ns) earliest = i;
  }
  return earliest;
}

// The hole moves down to the bottom along the earliest children, and the last entry rises from there. The last entry
// came from the bottom and seldom rises far, so this saves one comparison per level against sinking it from the top.
timer_entry timer_heap::pop() noexcept {
  timer_entry const result = slots_[root];
  std::uint32_t const count = size() - 1;
  size_.store(count, relaxed);
  if (count == 0) return result;
  std::uint32_t const end = root + count;
  timer_entry const last = slots_[end];
  std::uint32_t hole = root;
  std::uint32_t child = first_child(hole);
  while (child + 3 < end) {
    prefetch_below(child);
    child = earliest_of_four(child);
    slots_[hole] = slots_[child];
    hole = child;
    child = first_child(hole);
  }
  if (child < end) {
    child = earliest_child(child, end);
    slots_[hole] = slots_[child];
    hole = child;
  }
  rise(hole, last);
  return result;
}

void timer_heap::sink(std::uint32_t hole, timer_entry e, std::uint32_t end) noexcept {
  for (std::uint32_t child = first_child(hole); child < end; child = first_child(hole)) {
    child = child + 3 < end ? earliest_of_four(child) : earliest_child(child, end);
    if (e.when_ns <= slots_[child].when_ns) break;
    slots_[hole] = slots_[child];
    hole = child;
  }
  slots_[hole] = e;
}

void timer_heap::remove(std::uint32_t place) noexcept {
  std::uint32_t const hole = root + place;
  std::uint32_t const end = root + size() - 1;
  size_.store(end - root, relaxed);
  if (hole == end) return;
  timer_entry const last = slots_[end];
  if (hole != root && last.when_ns < slots_[parent_of(hole)].when_ns) {
    rise(hole, last);
  } else {
    sink(hole, last, end);
  }
}

void timer_heap::restore_order() noexcept {
  std::uint32_t const end = root + size();
  if (size() < 2) return;
  for (std::uint32_t parent = parent_of(end - 1); parent >= root; --parent) sink(parent, slots_[parent], end);
}

}  // namespace thrum::rt
