// Unstarted goroutines for which there was no memory for a stack (sched/stack_wait.h). The goroutine that has waited
// longest is the first. Everything is under sched.lock, except `any`.
#pragma once

#include "base/atomic.h"
#include "core/entry.h"

#include <cstdint>

namespace thrum::rt {

class stack_waiters {
 public:
  // Any thread. relaxed: the list is under the lock. A thread that frees a stack sees the goroutine here or at its next
  // safe point.
  [[nodiscard]] bool any() const noexcept { return count_.load(relaxed) != 0; }

  [[nodiscard]] std::uint32_t size() const noexcept { return list_.size(); }
  [[nodiscard]] G* first() const noexcept { return list_.front(); }  // nullptr: no goroutine waits
  void add(G& g) noexcept {
    list_.push_back(g);
    count_.store(list_.size(), relaxed);
  }
  // The first goroutine has got a stack.
  G& take_first() noexcept {
    G& first = *list_.pop_front();
    count_.store(list_.size(), relaxed);
    return first;
  }
  // There is no stack for the first goroutine. A goroutine that wants another size may find one.
  void put_first_last() noexcept { list_.push_back(*list_.pop_front()); }

 private:
  g_list list_;
  atomic<std::uint32_t> count_{0};  // of the list; written under the lock
};

}  // namespace thrum::rt
