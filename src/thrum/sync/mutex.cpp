// The slow paths of mutex (S26, T14).
//
// Invariants:
//  1. `waiters` is set exactly while a goroutine stands in the bucket. It changes under the bucket's lock. But with
//     `starving` it stays until the owner's unlock, even when the last waiter has given up.
//  2. Unlocked with `waiters` and without `woken` is a transient state: the goroutine whose unlock brought it about is
//     on its way to the bucket, to wake the first waiter. It may leave that to a new owner that came in between,
//     because that owner's unlock sees the same flags.
//  3. `woken` belongs to one goroutine, which was taken out of the bucket and will take the mutex, enter the bucket
//     again or give up. It clears the flag with the same operation. Until then no unlock wakes another waiter. It gives
//     up only a mutex that is locked, so the next unlock finds the flag clear.
//  4. After the release, an unlock touches the mutex only under the bucket's lock, and only if a goroutine stands there
//     under the mutex's key, because a goroutine that waits for a mutex keeps it alive.
//  5. With `starving` set, only an owner's unlock gives the mutex away, and only to the first waiter in the bucket. No
//     other goroutine sets `locked` meanwhile. Otherwise, if the run ended between the two steps of that unlock, the
//     next run would find a mutex that is locked and has no owner.
//  6. What a run that is over left behind means nothing in the next one: neither its flags, nor a `locked` that was
//     promised to a goroutine which never came to take it (T12).
#include "base/ablation.h"
#include "base/check.h"
#include "base/heuristics.h"
#include "os/chaos.h"
#include "os/clock.h"
#include "sync/lock_holders.h"
#include "sync/misuse.h"
#include "sync/spin.h"
#include "sync/stamp.h"
#include "sync/wait.h"
#include <thrum/mutex.h>

namespace thrum {

using namespace rt;

std::uint32_t mutex::flags_of(std::uint32_t seen, std::uint32_t epoch) noexcept {
  if (seen >> epoch_shift == epoch) return seen & ~(epoch << epoch_shift);
  return (seen & promised) != 0 ? 0 : seen & locked;
}

std::uint32_t mutex::stamped(std::uint32_t flags, std::uint32_t epoch) noexcept {
  return (flags & ~locked) != 0 ? flags | epoch << epoch_shift : flags;
}

// A byte inside the mutex that is no other object's address. So by invariant 4 the word behind it may be read.
void const* mutex::key() const noexcept { return key_of(this, lock_wait_kind::to_own); }

bool mutex::try_lock_slow() noexcept {
  std::uint32_t seen = state_.load(acquire);
  std::uint32_t const epoch = live_epoch();  // read after the word: rule 1 of sync/stamp.h
  std::uint32_t const flags = flags_of(seen, epoch);
  bool const is_ours = (flags & (locked | starving)) == 0 &&
                       // acquire pairs with the last unlock
                       state_.compare_exchange(seen, stamped(flags | locked, epoch), acquire, relaxed);
  if (is_ours) holder_.is_this_goroutine();
  return is_ours;
}

// The mutex was handed over, and its new owner runs.
void mutex::accept(std::uint32_t epoch) noexcept {
  std::uint32_t seen = state_.load(relaxed);
  while (!state_.compare_exchange_weak(seen, stamped(flags_of(seen, epoch) & ~promised, epoch), relaxed, relaxed)) {
  }  // relaxed: what the last owner did came with being woken
}

bool mutex::take_as_woken(std::uint32_t epoch) noexcept {
  std::uint32_t seen = state_.load(relaxed);
  std::uint32_t const flags = flags_of(seen, epoch);
  return (flags & (locked | starving)) == 0 &&
         // acquire pairs with the last unlock
         state_.compare_exchange(seen, stamped((flags | locked) & ~woken, epoch), acquire, relaxed);
}

// Takes the mutex if it is free; if not, sets the flags `mark`. Clears `done_with` in either case. Returns true if the
// caller owns the mutex.
bool mutex::take_or_mark(std::uint32_t mark, std::uint32_t done_with, std::uint32_t epoch) noexcept {
  std::uint32_t seen = state_.load(relaxed);
  for (;;) {
    std::uint32_t const flags = flags_of(seen, epoch);
    bool const is_free = (flags & (locked | starving)) == 0;
    std::uint32_t const next = (flags | (is_free ? locked : mark)) & ~done_with;
    // acquire pairs with the last unlock; release: rule 1 of sync/stamp.h
    if (state_.compare_exchange_weak(seen, stamped(next, epoch), acq_rel, relaxed)) return is_free;
  }
}

// A waiter that was not woken in time is out of the bucket, which is locked. If it was the last waiter, `waiters` is
// cleared. But a mutex that starves is given away by its owner only, which may be on its way to the bucket, and writes
// the whole word there.
void mutex::leave_queue(wait_bucket& bucket, std::uint32_t epoch) noexcept {
  std::uint32_t seen = state_.load(relaxed);
  while (!bucket.has_waiters(key())) {
    std::uint32_t const flags = flags_of(seen, epoch);
    if ((flags & (waiters | starving)) != waiters) break;
    // relaxed: nothing is handed over
    if (state_.compare_exchange_weak(seen, stamped(flags & ~waiters, epoch), relaxed, relaxed)) break;
  }
  bucket.release();
}

void mutex::lock_slow(std::uint32_t before) {
  static_cast<void>(wait_to_own(before, "mutex::lock", no_deadline));
  holder_.is_this_goroutine();
}

bool mutex::try_lock_until_ns(std::int64_t deadline_ns) {
  if (detail::clock_ns() >= deadline_ns) return try_lock();
  bool const is_ours = wait_to_own(state_.load(relaxed), "mutex::try_lock_for", deadline_ns);  // relaxed: a first look
  if (is_ours) holder_.is_this_goroutine();
  return is_ours;
}

bool mutex::wait_to_own(std::uint32_t before, char const* what, std::int64_t deadline_ns) {
  // Flags of a run that is over, and a `locked` that it has promised, mean nothing.
  bool const may_be_free = (before & locked) == 0 || (before & promised) != 0;
  if (may_be_free && try_lock()) return true;
  M* m = &enter_to_wait(what);
  std::uint32_t const epoch = m->sched.epoch;
  if ((before & starving) == 0 && spin_as_newcomer(*m, [this] { return try_lock(); })) {
    leave_runtime(*m);
    return true;
  }
  sudog& waiter = prepare_to_wait(*m);
  wait_bucket& bucket = m->sched.waiters.bucket_of(this);
  std::int64_t const since_ns = os::monotonic_ns();
  waiter.since_ns = since_ns;
  m->current->waits_since_ns.store(since_ns, relaxed);  // published to a reader that sees that the goroutine waits
  bool was_woken = false;
  bool has_starved = false;
  for (;;) {
    os::chaos_point("mutex.contended");
    bucket.acquire();
    std::uint32_t const as_waiter = waiters | (has_starved ? starving : 0);
    if (take_or_mark(as_waiter, was_woken ? woken : 0, epoch)) {
      bucket.release();
      break;
    }
    auto const end = wait_in(*m, bucket, waiter, key(), wait_reason::mutex,
                             was_woken ? queue_end::front : queue_end::back, deadline_ns);
    m = end.m;
    if (end.how != wait_outcome::woken) {
      leave_queue(bucket, epoch);
      end_wait(*m, waiter, end.how);
      return false;
    }
    if (waiter.handed_over) {
      accept(epoch);
      break;
    }
    was_woken = true;
    // A waiter that was woken and came too late tries for longer, and ever more seldom, so that it hardly disturbs an
    // owner that locks and unlocks in a loop. If it parked and was woken once more, it would disturb the owner more.
    if (take_as_woken(epoch) ||
        (applies(heuristic::woken_spin) && spin_before_park(*m, woken_spin_ns, [&] { return take_as_woken(epoch); })))
      break;
    if (deadline_ns != no_deadline && detail::clock_ns() >= deadline_ns) {
      bool const owned = take_or_mark(0, woken, epoch);
      end_wait(*m, waiter);
      return owned;
    }
    has_starved = os::monotonic_ns() - since_ns > starvation_threshold_ns;
  }
  end_wait(*m, waiter);
  return true;
}

[[gnu::noinline]] void mutex::unlock_slow(std::uint32_t before) noexcept {
  if ((before & locked) == 0) misuse("mutex::unlock: the mutex is not locked");
  std::uint32_t const epoch = live_epoch_after_release();
  std::uint32_t const flags = flags_of(before, epoch);
  if ((flags & waiters) == 0) return;                 // no goroutine waits in this run
  if ((flags & (woken | starving)) == woken) return;  // a waiter was woken and will try
  M* const found = enter_to_wake(epoch);
  if (found == nullptr) return;
  M& m = *found;
  os::chaos_point("mutex.unlocked");
  wait_bucket& bucket = m.sched.waiters.bucket_of(this);
  bucket.acquire();
  if ((flags & starving) != 0) {
    hand_over(m, bucket, site_of_caller());
  } else {
    wake_first(m, bucket, site_of_caller());
  }
  leave_runtime(m);
}

// The caller owns the mutex until the exchange below, whatever `locked` says.
void mutex::hand_over(M& m, wait_bucket& bucket, std::uintptr_t site) noexcept {
  bool more = false;
  sudog* const first = bucket.dequeue(key(), more);
  std::uint32_t next = 0;  // all goroutines that stood there have given up
  if (first != nullptr) {
    first->handed_over = true;
    next = locked | promised | (more ? waiters : 0);
    // If the new owner is the last waiter or has not waited long, the fair mode ends.
    if (more && os::monotonic_ns() - first->since_ns > starvation_threshold_ns) next |= starving;
  }
  // release pairs with the next owner's acquire. acquire: the new owner sees what all earlier owners did
  state_.exchange(stamped(next, m.sched.epoch), acq_rel);
  bucket.release();  // the mutex may be gone from here on
  os::chaos_point("mutex.handed_over");
  if (first != nullptr) ready(m, *first->g, site);
}

// Another goroutine may have locked the mutex, or the mutex may be gone.
void mutex::wake_first(M& m, wait_bucket& bucket, std::uintptr_t site) noexcept {
  sudog* first = nullptr;
  if (bucket.has_waiters(key())) {
    std::uint32_t seen = state_.load(relaxed);
    // If there is another owner, it will wake the first waiter when it unlocks. If a waiter was already woken, it will
    // try.
    if ((seen & (locked | woken | starving)) == 0) {
      bool more = false;
      first = bucket.dequeue(key(), more);
      std::uint32_t const flags = (first != nullptr ? woken : 0) | (more ? waiters : 0);
      std::uint32_t next = 0;
      do {
        next = stamped((seen & locked) | flags, m.sched.epoch);
      } while (!state_.compare_exchange_weak(seen, next, relaxed, relaxed));  // relaxed: nothing is handed over
    }
  }
  bucket.release();
  if (first != nullptr) ready(m, *first->g, site);
}

}  // namespace thrum
