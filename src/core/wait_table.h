// Wait queues keyed by the address of what is waited for (S26, T14; Go's semaRoot).
//
// A mutex or wait group is only a few words; its waiters stand here, in the bucket that its address hashes to. Every
// release that may have waiters changes the object's state *under the bucket's lock* and takes its waiters out there.
// After that the object is not touched again, so the waiter may destroy it the moment it returns; and since the address
// is only a key, a new object at the same place cannot be confused with it: it enters the bucket under the same lock.
//
// In a bucket, the first waiters of different addresses form a treap; further waiters of an address hang behind their
// first one, in order of coming. So a crowd on one address costs O(1), many addresses in one bucket O(log n). A waiter that
// gives up leaves from anywhere in the queue for the price of finding its address.
//
// A broadcast detaches the whole queue of an address in O(1) and then takes its waiters out in chunks, releasing the lock in
// between, because hundreds of other addresses share the bucket. A waiter that gives up leaves a detached queue by the same
// call; a goroutine that begins to wait for the address meanwhile stands in a queue of its own.
//
// Passive: it returns lists, it wakes nobody.
#pragma once

#include "base/random.h"
#include "core/sudog.h"
#include "os/lock.h"

#include <cstddef>
#include <cstdint>

namespace thrum::rt {

enum class queue_end : bool { back, front };

// All waiters that an address had, out of the tree, between two sudogs that stand for nobody. So the first and the last have
// neighbours, and a waiter that gives up changes nothing but those. Lives on the stack of the goroutine that wakes them.
class detached_queue {
 public:
  detached_queue() noexcept {
    before_.next = &behind_;
    behind_.left = &before_;
  }
  detached_queue(detached_queue const&) = delete;
  detached_queue& operator=(detached_queue const&) = delete;

  // Both: under the bucket's lock.
  [[nodiscard]] bool empty() const noexcept { return before_.next == &behind_; }
  // Takes the first waiter out. nullptr: another waker was quicker to wake its goroutine, or the queue is empty.
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

  // All below: under the lock.
  void enqueue(sudog& waiter, void const* address, queue_end where) noexcept;
  // The first waiter of the address that the caller may wake, or nullptr; `more` says whether others are left. Those whose
  // goroutine somebody else was quicker to wake are taken out on the way, and left to it.
  sudog* dequeue(void const* address, bool& more) noexcept;
  // Moves all waiters of the address to `to`, which is empty, in O(1).
  void detach(void const* address, detached_queue& to) noexcept;
  // Takes a waiter out from wherever it stands; false: a waker has taken it out or detached its queue. `more` as above.
  [[nodiscard]] bool remove(sudog& waiter, bool& more) noexcept;
  // Takes this waiter out; false: somebody else was quicker to wake its goroutine.
  [[nodiscard]] bool take(sudog& waiter) noexcept;
  // The first waiter of the address, which stays there; nullptr if there is none.
  [[nodiscard]] sudog* first(void const* address) const noexcept { return find(address); }
  [[nodiscard]] bool has_waiters(void const* address) const noexcept { return find(address) != nullptr; }
  template <class F>
  void for_each(F visit) const noexcept {
    visit_tree(root_, visit);
  }

 private:
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
  random_source random_{0x7468726d};  // only shapes the treap
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
  static constexpr std::size_t bucket_count = 251;  // Go's value: prime, so that strides of objects do not collide
  struct alignas(cache_line_bytes) padded {
    wait_bucket bucket;
  };
  padded buckets_[bucket_count];
};

}  // namespace thrum::rt
