// A list of free stacks, last in, first out. The stack that was used last is used next, and the stacks at the bottom
// are those that were not needed.
//
// The list knows which of its stacks are idle. If it had n stacks when it was shortest, the n stacks at its bottom have
// not moved since the beginning of the interval. It keeps two such low-water marks, and each mark has its own interval,
// which begins with the last cut of its kind. The short interval finds the stacks that can be trimmed, and the long one
// finds those that can lose all their memory.
//
// Invariants, for each mark: mark.count <= count_. While count_ > mark.count, mark.above is the lowest stack that is
// not idle.
//
// It has no lock of its own; the pool's lock protects it. Every operation takes constant time.
#pragma once

#include "stack/stack.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace thrum::rt {

enum class idle_for : std::uint8_t { a_while, a_long_time };

class free_stacks {
 public:
  struct part {
    stack* first = nullptr;
    stack* last = nullptr;  // its link is null
    std::size_t count = 0;
  };

  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  void push(stack* first, stack* last, std::size_t count) noexcept {
    for (mark& each : marks_) {
      if (count_ == each.count) each.above = last;
    }
    if (count_ == 0) bottom_ = last;
    last->next = head_;
    head_ = first;
    count_ += count;
  }

  [[nodiscard]] stack* pop() noexcept {
    stack* const top = head_;
    if (top == nullptr) return nullptr;
    head_ = top->next;
    --count_;
    for (mark& each : marks_) each.count = std::min(each.count, count_);
    return top;
  }

  // Removes and returns the stacks that have not moved since the last cut of this kind, and begins a new interval.
  [[nodiscard]] part cut(idle_for how_long) noexcept {
    mark& its = marks_[static_cast<std::size_t>(how_long)];
    mark& other = marks_[1 - static_cast<std::size_t>(how_long)];
    std::size_t const idle = its.count;
    part result;
    if (idle != 0) {
      stack*& link = count_ > idle ? its.above->next : head_;
      result = {link, bottom_, idle};
      link = nullptr;
      bottom_ = its.above;  // has no meaning if the list has become empty
      count_ -= idle;
      if (other.count <= idle) other.above = bottom_;
      other.count -= std::min(other.count, idle);
    }
    its.count = count_;
    return result;
  }

 private:
  struct mark {
    std::size_t count = 0;   // the length of the list when it was shortest in this interval
    stack* above = nullptr;  // the stack just above the idle ones
  };

  stack* head_ = nullptr;
  stack* bottom_ = nullptr;
  std::size_t count_ = 0;
  std::array<mark, 2> marks_{};
};

}  // namespace thrum::rt
