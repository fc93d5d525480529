// The slow paths of shared_mutex (Go's RWMutex, T14).
//
// Invariants:
//  1. `held` is set only while no reader is counted, by one operation, and passes from writer to writer without being
//     cleared. So a reader that is counted and has seen it clear is inside until it is uncounted.
//  2. A newcomer is counted before it knows whether it may enter. If it may not, it is uncounted before it waits.
//  3. `writers_wait` and `readers_wait` are set exactly while a writer or a reader, respectively, stands in the bucket.
//     They change under its lock. Readers stand there only while a writer holds or waits. While one of the flags is
//     set, `held` changes only under that lock too. (A waiter whose time is over may be taken out by a waker that
//     passes it over. It clears its flag, and does what follows from that, as soon as it has the lock.)
//  4. Free with `writers_wait` is a transient state: the goroutine that brought it about is on its way to the bucket,
//     to let the first writer in. No other goroutine takes the shared_mutex.
//  5. A waiter that is woken is inside, because the shared_mutex was handed over to it.
//  6. After its release, a reader touches the shared_mutex only under the bucket's lock, and only if a writer stands
//     there, because a goroutine that waits for it keeps it alive. A writer that other goroutines wait for releases it
//     under the bucket's lock from the start.
#include "base/check.h"
#include "base/heuristics.h"
#include "os/chaos.h"
#include "sync/lock_holders.h"
#include "sync/misuse.h"
#include "sync/spin.h"
#include "sync/stamp.h"
#include "sync/wait.h"
#include <thrum/shared_mutex.h>

namespace thrum {

using namespace rt;

// Bytes inside the object that are no other object's keys. So by invariant 6 the word behind the first may be read.
void const* shared_mutex::writers_key() const noexcept { return key_of(this, lock_wait_kind::to_write); }
void const* shared_mutex::readers_key() const noexcept { return key_of(this, lock_wait_kind::to_read); }

// Unlocks what an earlier run has promised to goroutines that never came. Every caller does so before it waits.
//
// While a run is alive, both steps are done inside the runtime, because a goroutine could be stopped for good between
// them by the end of its run, and the shared_mutex would stay locked. While no run is alive, a goroutine that its run
// has left behind does nothing, for the same reason.
void shared_mutex::release_broken_promises() noexcept {
  if (!has_broken_promise(promised_)) return;
  std::uint32_t const epoch = live_epoch();
  bool const is_done = wake_in_bucket(epoch, this, [&](wait_bucket& bucket, g_list& woken) {
    word const promised = take_broken_promise(promised_);
    if ((promised & held) != 0) unlock_locked(bucket, woken, epoch);
    word const count = promised & readers;
    if (count == 0) return;
    word const before = state_.fetch_sub(count, acq_rel);  // release as unlock_shared; acquire: rule 1 of sync/stamp.h
    word const was = unstamped(before, flags, epoch) & (held | writers_wait | readers);
    if (was == (writers_wait | count)) let_writer_in_locked(bucket, woken, epoch);
  });
  if (is_done || is_left_behind()) return;
  word const promised = take_broken_promise(promised_);
  if ((promised & held) != 0) unlock_slow();
  if ((promised & readers) != 0) uncount_readers(promised & readers);
}

// --- giving it away: under the bucket's lock, while it is held for the goroutine that gives it away, or free ---

// Changes state_ to next(its present value).
template <class Next>
void shared_mutex::change(std::uint32_t epoch, Next next) noexcept {
  run_stamp<word> seen(state_, flags, epoch);
  while (!seen.change_to(next(seen.now()))) {
  }
}

// Gives the shared_mutex to the first writer that waits. Returns false if there is none.
bool shared_mutex::give_to_writer(wait_bucket& bucket, g_list& woken, std::uint32_t epoch) noexcept {
  bool more = false;
  sudog* const first = bucket.dequeue(writers_key(), more);
  // This also holds if all of them have given up and only wait for the bucket's lock.
  if (!more) change(epoch, [](word now) { return now & ~writers_wait; });
  if (first == nullptr) return false;
  promise(promised_, held, epoch);
  woken.push_back(*first->g);
  return true;
}

// Lets all readers that wait in. Returns false if there are none. If there are many, the bucket's lock is released in
// between. The shared_mutex does not change hands meanwhile, because none of the readers that are counted is woken
// before the last one is counted, and while a reader is counted no writer gets in (invariant 1). Readers that begin to
// wait meanwhile enter too. Their number is bounded, because the readers are woken only at the end.
bool shared_mutex::let_readers_in(wait_bucket& bucket, g_list& woken, std::uint32_t epoch) noexcept {
  for (bool more = true; more;) {
    word entering = 0;
    while (more && entering < woken_at_once) {
      sudog* const next = bucket.dequeue(readers_key(), more);
      if (next == nullptr) break;
      woken.push_back(*next->g);
      ++entering;
    }
    if (entering == 0) break;
    promise(promised_, entering, epoch);
    word const gone = held | (more ? 0 : readers_wait);
    change(epoch, [=](word now) { return (now & ~gone) + entering; });
    if (!more) break;
    bucket.release();
    os::chaos_point("shared_mutex.lets_in");
    bucket.acquire();
  }
  return !woken.empty();
}

// Sets the shared_mutex free, because all goroutines that stood in the bucket have given up.
void shared_mutex::set_free(std::uint32_t epoch) noexcept {
  change(epoch, [](word now) { return now & readers; });
}

// --- writers ---

bool shared_mutex::take_if_free() noexcept {
  run_stamp<word> seen(state_, flags);
  while (seen.now() == 0) {
    if (!seen.change_to(held)) continue;
    holder_.is_this_goroutine();
    return true;
  }
  return false;
}

bool shared_mutex::try_lock_slow() noexcept {
  release_broken_promises();
  return take_if_free();
}

void shared_mutex::lock_slow() {
  if (!try_lock_slow()) static_cast<void>(wait_to_write("shared_mutex::lock", no_deadline));
}

bool shared_mutex::wait_to_write(char const* what, std::int64_t deadline_ns) {
  if (deadline_ns != no_deadline && detail::clock_ns() >= deadline_ns) return try_lock();
  M& m = enter_to_wait(what);
  std::uint32_t const epoch = m.sched.epoch;
  if ((state_.load(relaxed) & writers_wait) == 0 && spin_as_newcomer(m, [&] { return take_if_free(); })) {
    leave_runtime(m);
    return true;
  }
  sudog& waiter = prepare_to_wait(m);
  wait_bucket& bucket = m.sched.waiters.bucket_of(this);
  bucket.acquire();
  run_stamp<word> seen(state_, flags, epoch);
  bool taken = false;
  do {
    taken = !seen.has(held | writers_wait | readers);
  } while (!seen.change_to(seen.now() | (taken ? held : writers_wait)));
  if (taken) {
    holder_.is_this_goroutine();
    bucket.release();
    end_wait(m, waiter);
    return true;
  }
  auto const end = wait_in(m, bucket, waiter, writers_key(), wait_reason::write_lock, queue_end::back, deadline_ns);
  if (end.how == wait_outcome::woken) {
    holder_.is_this_goroutine();
    accept(promised_, held);
  } else {
    g_list woken;
    writer_gave_up(bucket, woken, epoch);
    bucket.release();
    ready_all(*end.m, woken);
  }
  end_wait(*end.m, waiter, end.how);
  return end.how == wait_outcome::woken;
}

// A writer has given up, and is out of the bucket. If it was the last writer, readers that waited only for it can
// enter.
void shared_mutex::writer_gave_up(wait_bucket& bucket, g_list& woken, std::uint32_t epoch) noexcept {
  if (bucket.has_waiters(writers_key())) return;
  change(epoch, [](word now) { return now & ~writers_wait; });
  // By invariant 3 `held` cannot change while readers wait.
  if ((state_.load(relaxed) & held) == 0 && !let_readers_in(bucket, woken, epoch)) reader_gave_up(bucket, epoch);
}

// Hands on what the caller holds, under the bucket's lock.
void shared_mutex::unlock_locked(wait_bucket& bucket, g_list& woken, std::uint32_t epoch) noexcept {
  if (!let_readers_in(bucket, woken, epoch) && !give_to_writer(bucket, woken, epoch)) set_free(epoch);
}

[[gnu::noinline]] void shared_mutex::unlock_slow() noexcept {
  for (run_stamp<word> seen(state_, flags);;) {
    if (!seen.has(held)) {
      misuse("shared_mutex::unlock: the shared_mutex is %s",
             seen.has(readers) ? "locked for reading only; call unlock_shared" : "not locked");
    }
    if (!seen.has(flags)) {
      if (seen.change_to(seen.now() & ~held)) return;  // readers that are just coming see that it is free
      continue;
    }
    auto const hand_on = [&, epoch = seen.epoch()](wait_bucket& bucket, g_list& woken) {
      unlock_locked(bucket, woken, epoch);
    };
    if (wake_in_bucket(seen.epoch(), this, hand_on, site_of_caller())) return;
    seen.look_again();
  }
}

// --- readers ---

bool shared_mutex::enter_if_open() noexcept {
  for (run_stamp<word> seen(state_, flags);;) {
    if (seen.now() > readers) return false;
    if (seen.change_to(seen.now() + reader)) return true;
  }
}

bool shared_mutex::try_lock_shared_slow() noexcept {
  release_broken_promises();
  return enter_if_open();
}

void shared_mutex::lock_shared_slow(word before) {
  static_cast<void>(wait_to_read(before, "shared_mutex::lock_shared", no_deadline));
}

bool shared_mutex::try_lock_shared_until_ns(std::int64_t deadline_ns) {
  if (detail::clock_ns() >= deadline_ns) return try_lock_shared();
  word const before = state_.fetch_add(reader, acquire);  // as lock_shared
  return before <= readers || wait_to_read(before, "shared_mutex::try_lock_shared_for", deadline_ns);
}

// The caller is counted as a reader, and is not inside.
bool shared_mutex::wait_to_read(word before, char const* what, std::int64_t deadline_ns) {
  if (unstamped(before, flags, live_epoch()) <= readers) return true;  // these were flags of a run that is over
  uncount_readers(reader);  // first, because the caller may never come back from the runtime
  if (try_lock_shared_slow()) return true;
  M& m = enter_to_wait(what);
  std::uint32_t const epoch = m.sched.epoch;
  if ((before & writers_wait) == 0 && spin_as_newcomer(m, [&] { return enter_if_open(); })) {
    leave_runtime(m);
    return true;
  }
  sudog& waiter = prepare_to_wait(m);
  wait_bucket& bucket = m.sched.waiters.bucket_of(this);
  bucket.acquire();
  run_stamp<word> seen(state_, flags, epoch);
  bool entered = false;
  do {
    entered = !seen.has(held | writers_wait);
  } while (!seen.change_to(entered ? seen.now() + reader : seen.now() | readers_wait));
  if (entered) {
    bucket.release();
    end_wait(m, waiter);
    return true;
  }
  auto const end = wait_in(m, bucket, waiter, readers_key(), wait_reason::read_lock, queue_end::back, deadline_ns);
  if (end.how == wait_outcome::woken) {
    accept(promised_, reader);
  } else {
    reader_gave_up(bucket, epoch);
    bucket.release();
  }
  end_wait(*end.m, waiter, end.how);
  return end.how == wait_outcome::woken;
}

void shared_mutex::uncount_readers(word count) noexcept {
  word const before = state_.fetch_sub(count, release);  // as unlock_shared
  std::uint32_t const epoch = live_epoch_after_release();
  word const was = unstamped(before, flags, epoch) & (held | writers_wait | readers);
  if (was == (writers_wait | count)) let_writer_in(epoch, 0);
}

// A reader has given up, and is out of the bucket.
void shared_mutex::reader_gave_up(wait_bucket& bucket, std::uint32_t epoch) noexcept {
  if (bucket.has_waiters(readers_key())) return;
  change(epoch, [](word now) { return now & ~readers_wait; });
}

[[gnu::noinline]] void shared_mutex::unlock_shared_slow(word before) noexcept {
  if ((before & held) != 0) misuse("shared_mutex::unlock_shared: the shared_mutex is locked for writing; call unlock");
  if ((before & readers) == 0) misuse("shared_mutex::unlock_shared: the shared_mutex is not locked");
  std::uint32_t const epoch = live_epoch_after_release();
  word const now = unstamped(before, flags, epoch);
  if ((now & (writers_wait | readers)) == (writers_wait | reader)) let_writer_in(epoch, site_of_caller());
}

// The last reader has left, and a writer waits. Or the writer has been let in meanwhile, and the shared_mutex may be
// gone.
void shared_mutex::let_writer_in(std::uint32_t epoch, std::uintptr_t site) noexcept {
  // If that run is over, the writer does not wait.
  auto const let_in = [&](wait_bucket& bucket, g_list& woken) { let_writer_in_locked(bucket, woken, epoch); };
  static_cast<void>(wake_in_bucket(epoch, this, let_in, site));
}

void shared_mutex::let_writer_in_locked(wait_bucket& bucket, g_list& woken, std::uint32_t epoch) noexcept {
  if (!bucket.has_waiters(writers_key())) return;
  word seen = state_.load(relaxed);
  // If other goroutines are inside, they will let the writer in when they leave.
  while ((seen & (held | readers)) == 0) {
    // acquire: the writer sees what all readers did
    if (state_.compare_exchange_weak(seen, seen | held, acquire, relaxed)) {
      if (!give_to_writer(bucket, woken, epoch) && !let_readers_in(bucket, woken, epoch)) set_free(epoch);
      return;
    }
  }
}

}  // namespace thrum
