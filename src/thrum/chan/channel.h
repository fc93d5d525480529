// The core of a channel (S33; Go's hchan).
//
// Invariants, all under `lock`:
//  1. Receivers wait only while the buffer is empty and no sender waits. Senders wait only while the buffer is full and
//     no receiver waits. A select may stand on both sides; it never meets itself, because it stands in no queue while
//     it looks.
//  2. A goroutine that takes a waiter out of a queue has won the waiter's race. Before it releases the lock it
//     completes the exchange: it copies the parcel directly from, or to, the waiter's stack. It readies the waiter
//     after that.
//  3. A call does not touch the channel after its last release of the lock, because the goroutine that got the last
//     element may destroy the channel. A close that releases the lock several times holds a reference meanwhile.
//  4. Waiters belong to the run `epoch`. Waiters of a run that is over are dropped by the first thread that locks the
//     channel in a later run, without looking at them (T12). A goroutine of the earlier run that is in user code and
//     comes to a channel of the later run sleeps for good.
//
// count, closed and the ends of the queues are written under the lock and read without it by the try forms. These rely
// on one fact: a thread that sees what a closed channel looks like (no receivers, no senders, the last element taken)
// sees afterwards that it is closed. So the stores that lead to these three states are release stores; the others may
// be relaxed.
#pragma once

#include "core/m.h"
#include "core/sched.h"
#include "core/timer_record.h"
#include "os/spin_lock.h"
#include "sched/park.h"
#include <thrum/detail/channel.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace thrum::rt {
struct debugger_rows;
}

namespace thrum::detail {

using rt::acquire;
using rt::atomic;
using rt::relaxed;

// The waiters of a channel that was closed, between two waiters without a goroutine. Because of these two, the first
// and the last waiter have neighbours too, so a select that leaves changes only its neighbours. All members are called
// under the channel's lock.
class detached_waiters {
 public:
  detached_waiters() noexcept {
    before_.next = &behind_;
    behind_.previous = &before_;
  }
  detached_waiters(detached_waiters const&) = delete;
  detached_waiters& operator=(detached_waiters const&) = delete;

  [[nodiscard]] bool empty() const noexcept { return before_.next == &behind_; }
  // Takes out as many waiters as `to` has room for. Returns how many goroutines the caller may wake; these are in `to`.
  // It does not touch the goroutines' records, because each of them would be another cache miss under the lock.
  [[nodiscard]] std::size_t pop_some(std::span<rt::G*> to) noexcept;

 private:
  friend class waiter_queue;
  channel_waiter before_;
  channel_waiter behind_;
};

// First in, first out. A waiter in the middle leaves in O(1).
class waiter_queue {
 public:
  [[nodiscard]] bool looks_empty() const noexcept { return first_.load(acquire) == nullptr; }

  // All functions below are called under the channel's lock.
  [[nodiscard]] bool is_empty() const noexcept { return first_.load(relaxed) == nullptr; }
  void push_back(channel_waiter& waiter) noexcept;
  void remove(channel_waiter& waiter) noexcept;  // does nothing if a waker has taken it out
  // Takes out the first waiter whose goroutine the caller may wake. A waiter of a select counts only if no other case
  // of the select has won.
  [[nodiscard]] channel_waiter* pop() noexcept {
    channel_waiter* const first = first_.load(relaxed);
    if (first == nullptr || first->is_select) return first == nullptr ? nullptr : pop_select();
    unlink_first(*first);
    return first;
  }
  [[nodiscard]] channel_waiter const* first() const noexcept { return first_.load(relaxed); }
  // For close: moves all waiters to `to`, which is empty, in O(1). A select leaves that list by remove(), too.
  void detach(detached_waiters& to) noexcept;
  void forget() noexcept {
    first_.store(nullptr, relaxed);
    last_ = nullptr;
  }

 private:
  friend struct rt::debugger_rows;

  [[nodiscard]] channel_waiter* pop_select() noexcept;
  void unlink_first(channel_waiter& first) noexcept {
    first.is_queued = false;
    first_.store(first.next, relaxed);  // relaxed: the channel is open, see above
    (first.next == nullptr ? last_ : first.next->previous) = nullptr;
  }

  atomic<channel_waiter*> first_{nullptr};
  channel_waiter* last_ = nullptr;
};

struct channel {
  channel(std::size_t elements, parcel_type const& type) noexcept
      : capacity(elements), parcel_bytes(type.bytes), destroy(type.destroy) {}

  rt::os::spin_lock lock{rt::lock_rank::channel};
  std::uint32_t epoch = 0;
  atomic<bool> closed{false};
  atomic<std::size_t> count{0};  // parcels in the buffer
  std::size_t head = 0;          // the place of the oldest one
  waiter_queue receivers;
  waiter_queue senders;

  // fixed
  std::size_t const capacity;
  std::size_t const parcel_bytes;
  void (*const destroy)(void*) noexcept;
  rt::timer_record* timer = nullptr;  // of a timer's channel, whose buffer is hidden: see timer_channel.cpp

  // any thread
  atomic<std::size_t> references{1};

  // the buffer follows the record
  [[nodiscard]] char* place(std::size_t index) noexcept {
    return reinterpret_cast<char*>(this + 1) + index * parcel_bytes;
  }

  // Locks the channel. Returns false if the caller's run is over: the caller must not touch the waiters then, but it
  // holds the lock all the same.
  [[nodiscard]] bool take_lock(std::uint32_t callers_epoch, rt::os::ranked how = rt::os::ranked::yes) noexcept {
    lock.acquire(how);
    return epoch == callers_epoch || begin_epoch(callers_epoch);
  }
  [[nodiscard]] bool begin_epoch(std::uint32_t callers_epoch) noexcept {
    // relaxed: the thread that stored a later epoch here knew it, and held the lock
    if (rt::Sched::live_epoch.load(relaxed) != callers_epoch) return false;
    receivers.forget();
    senders.forget();
    epoch = callers_epoch;
    return true;
  }

  // Copies the common sizes without a call.
  void copy(void* to, void const* from) const noexcept {
    if (parcel_bytes == 8) {
      std::memcpy(to, from, 8);
    } else if (parcel_bytes == 4) {
      std::memcpy(to, from, 4);
    } else {
      std::memcpy(to, from, parcel_bytes);
    }
  }
  void put(void const* parcel) noexcept {
    std::size_t const filled = count.load(relaxed);
    std::size_t tail = head + filled;
    if (tail >= capacity) tail -= capacity;
    copy(place(tail), parcel);
    count.store(filled + 1, relaxed);  // relaxed: the channel is open, see above
  }
  void take(void* parcel) noexcept {
    copy(parcel, place(head));
    head = head + 1 == capacity ? 0 : head + 1;
    count.store(count.load(relaxed) - 1, rt::release);  // pairs with looks_empty
  }

  // These two are called without the lock. Their answers may be out of date, but are never torn.
  [[nodiscard]] bool looks_full() const noexcept {
    return capacity == 0 ? receivers.looks_empty() : count.load(acquire) == capacity;
  }
  [[nodiscard]] bool looks_empty() const noexcept {
    return capacity == 0 ? senders.looks_empty() : count.load(acquire) == 0;
  }
};

// One side of an exchange, under the lock. The result is done, would have to wait, or closed (and, to receive, empty).
// The goroutine that is to be readied after the lock is released is put into `other`.
[[nodiscard, gnu::always_inline]] inline attempt send_locked(channel& c, void const* parcel, rt::G*& other) noexcept {
  if (c.closed.load(relaxed)) [[unlikely]]
    return attempt::closed;
  if (channel_waiter* const receiver = c.receivers.pop()) {
    c.copy(receiver->parcel, parcel);
    receiver->completed = true;
    other = receiver->g;
    return attempt::done;
  }
  if (c.count.load(relaxed) == c.capacity) return attempt::would_block;
  c.put(parcel);
  return attempt::done;
}

[[nodiscard, gnu::always_inline]] inline attempt receive_locked(channel& c, void* parcel, rt::G*& other) noexcept {
  bool const from_buffer = c.count.load(relaxed) != 0;
  if (from_buffer) c.take(parcel);
  if (channel_waiter* const sender = c.senders.pop()) {
    if (from_buffer) {
      c.put(sender->parcel);  // the buffer was full, so this is the sender's turn
    } else {
      c.copy(parcel, sender->parcel);
    }
    sender->completed = true;
    other = sender->g;
    return attempt::done;
  }
  if (from_buffer) return attempt::done;
  return c.closed.load(relaxed) ? attempt::closed : attempt::would_block;
}

[[noreturn]] void throw_closed_for_sending();

// A goroutine whose run is over sleeps here for good: see invariant 4.
inline void lock(rt::M& m, channel& c) noexcept {
  if (c.take_lock(m.sched.epoch)) [[likely]]
    return;
  c.lock.release();
  rt::sleep_for_good(m);
}

}  // namespace thrum::detail
