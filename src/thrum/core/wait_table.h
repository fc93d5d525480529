// Wait queues keyed by the address of the object that is waited for (S26, T14; Go's semaRoot).
//
// A mutex or a wait group is only a few words; its waiters stand here, in the bucket that its address hashes to. Every
// release that may have waiters changes the object's state *under the bucket's lock* and takes the waiters out under
// the same lock. After that it does not touch the object, so a waiter may destroy the object as soon as it returns. The
// address is only a key. A new object at the same address cannot be confused with the old one, because its waiters
// enter the bucket under the same lock.
//
// In a bucket, the first waiters of different addresses form a treap. Further waiters of an address form a list behind
// their first one, in the order in which they came. So many waiters on one address cost O(1), and many addresses in one
// bucket O(log n). A waiter that gives up can leave from anywhere in its queue at the cost of finding its address.
//
// A broadcast detaches the whole queue of an address in O(1). It then takes the waiters out in chunks and releases the
// lock between chunks, because hundreds of other addresses share the bucket. A waiter that gives up leaves a detached
// queue by the same call. A goroutine that begins to wait for the address meanwhile stands in a new queue.
//
// This class is passive: it returns lists of waiters and wakes none of them.
#pragma once

#include "base/random.h"
#include "core/sudog.h"
#include "os/lock.h"

#include <cstddef>
#include <cstdint>

namespace thrum::rt {

enum class queue_end : bool { back, front };

// All waiters that an address had, out of the tree, between two sudogs without a goroutine. Because of these two, the
// first and the last waiter have neighbours too, so a waiter that gives up changes only its neighbours. A
// detached_queue lives on the stack of the goroutine that wakes the waiters.
class detached_queue {
 public:
  detached_queue() noexcept {
    before_.next = &behind_;
    behind_.left = &before_;
  }
  detached_queue(detached_queue const&) = delete;
  detached_queue& operator=(detached_queue const&) = delete;

  // Both functions are called under the bucket's lock.
  [[nodiscard]] bool empty() const noexcept { return before_.next == &behind_; }
  // Takes the first waiter out. Returns nullptr if another waker won the race to wake its goroutine, or if the queue is
  // empty.
  [[nodiscard]] sudog* pop() noexcept;

 private:
  friend class wait_bucket;
  sudog before_;
  sudog behind_;
};

class wait_bucket {
 public:
  void acquire() noexcept { lock_.acquire(); }
  void release() noexcept { lock_.release(); }
  [[nodiscard]] bool try_acquire() noexcept { return lock_.try_acquire(); }

  // All functions below are called under the lock.
  void enqueue(sudog& waiter, void const* address, queue_end where) noexcept;
  // Takes out and returns the first waiter of the address that the caller may wake, or nullptr. `more` says whether
  // others are left. A waiter whose goroutine another waker won the race for is taken out on the way, and left to that
  // waker.
  sudog* dequeue(void const* address, bool& more) noexcept;
  // Moves all waiters of the address to `to`, which is empty, in O(1).
  void detach(void const* address, detached_queue& to) noexcept;
  // Takes a waiter out from anywhere in its queue. Returns false if a waker has taken it out or detached its queue.
  // `more` as above.
  [[nodiscard]] bool remove(sudog& waiter, bool& more) noexcept;
  // Takes this waiter out. Returns false if another waker won the race to wake its goroutine.
  [[nodiscard]] bool take(sudog& waiter) noexcept;
  // Returns the first waiter of the address and leaves it in the queue; nullptr if there is none.
  [[nodiscard]] sudog* first(void const* address) const noexcept { return find(address); }
  [[nodiscard]] bool has_waiters(void const* address) const noexcept { return find(address) != nullptr; }
  template <class F>
  void for_each(F visit) const noexcept {
    visit_tree(root_, visit);
  }

 private:
  friend struct debugger_rows;

  [[nodiscard]] sudog* find(void const* address) const noexcept;
  [[nodiscard]] sudog** slot_of(void const* address) noexcept;
  static sudog* take_first(sudog** slot) noexcept;
  static void split(sudog* tree, void const* address, sudog*& less, sudog*& greater) noexcept;
  static sudog* merge(sudog* less, sudog* greater) noexcept;
  template <class F>
  static void visit_tree(sudog const* tree, F& visit) noexcept {
    if (tree == nullptr) return;
    visit_tree(tree->left, visit);
    for (sudog const* waiter = tree; waiter != nullptr; waiter = waiter->next) visit(*waiter);
    visit_tree(tree->right, visit);
  }

  os::lock lock_{lock_rank::sema_bucket};
  sudog* root_ = nullptr;
  random_source random_{0x7468726d};  // only for the shape of the treap
};

class wait_table {
 public:
  [[nodiscard]] wait_bucket& bucket_of(void const* address) noexcept {
    auto const key = reinterpret_cast<std::uintptr_t>(address) >> 3U;
    return buckets_[key % bucket_count].bucket;
  }

  template <class F>
  void for_each_bucket(F visit) noexcept {
    for (padded& one : buckets_) visit(one.bucket);
  }

 private:
  friend struct debugger_rows;

  static constexpr std::size_t bucket_count = 251;  // Go's value: prime, so that strides of objects do not collide
  struct alignas(cache_line_bytes) padded {
    wait_bucket bucket;
  };
  padded buckets_[bucket_count];
};

}  // namespace thrum::rt
