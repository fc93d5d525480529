// sudog: a G in a wait queue (S26).
//
// A goroutine may wait in many queues at once, and a queue holds many goroutines; a sudog is one such pair. Sudogs are
// pooled: a P keeps some, and exchanges half of them with the runtime's pool.
#pragma once

#include "core/g.h"

#include <cstdint>

namespace thrum::rt {

struct sudog {
  G* g = nullptr;
  void const* address = nullptr;  // what it waits for: the key of the wait table
  sudog* next = nullptr;          // the next waiter for the same address; in a pool, the next free one
  sudog* last = nullptr;          // first of an address only: the last waiter for it
  sudog* left = nullptr;          // first of an address: the left subtree of the treap; others: the waiter before it
  sudog* right = nullptr;         // first of an address only: the right subtree
  std::uint32_t priority = 0;     // of the treap node
  bool handed_over = false;       // the waker gave the waiter what it waited for
  bool still_runs = false;        // it is in a queue and has not parked; a waker sets handed_over and does not ready it
  bool in_race = false;           // other wakers may wake its goroutine too: a waker that takes it out must win G::race
  union {
    std::int64_t since_ns = 0;  // mutex: when it came
    std::int64_t wanted;        // semaphore: how many permits it waits for
  };
};

static_assert(sizeof(sudog) == 64, "a million waiters: one cache line each");

// A list of free sudogs; not synchronised.
class sudog_list {
 public:
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint32_t size_hint() const noexcept { return hint_of(size_); }  // for any thread
  void push(sudog* one) noexcept {
    one->next = head_;
    head_ = one;
    ++size_;
  }
  sudog* pop() noexcept {
    sudog* const one = head_;
    if (one != nullptr) {
      head_ = one->next;
      one->next = nullptr;
      --size_;
    }
    return one;
  }

 private:
  sudog* head_ = nullptr;
  std::uint32_t size_ = 0;
};

}  // namespace thrum::rt
