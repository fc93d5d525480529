// The slow paths of shared_mutex (Go's RWMutex, T14).
//
// Invariants:
//  1. `held` is set only while no reader is counted, by one operation. So a reader that is counted and has seen it clear
//     is inside until it is uncounted.
//  2. A newcomer is counted before it knows whether it may enter. If it may not, it is uncounted under the bucket's lock,
//     with the operation that makes it a waiter.
//  3. `writers_wait` and `readers_wait` are set exactly while such a one stands in the bucket; they change under its lock.
//     Readers stand there only while a writer holds or waits.
//  4. Free with `writers_wait` is a passing state: whoever brought it about is on his way to the bucket, to let the first
//     writer in. Nobody else takes it.
//  5. Whoever is woken is inside: it was handed over.
//  6. After its release a reader touches the shared_mutex again only under the bucket's lock and if a writer stands there:
//     who waits in it keeps it alive. A writer that others wait for releases it under the bucket's lock at once.
#include "base/check.h"
#include "sync/poll.h"
#include "sync/stamp.h"
#include "sync/wait.h"
#include <thrum/shared_mutex.h>

namespace thrum {

using namespace rt;

// Bytes inside the object that are no other object's keys: by invariant 6 we may look at the word behind the first.
void const* shared_mutex::writers_key() const noexcept { return reinterpret_cast<char const*>(this) + 3; }
void const* shared_mutex::readers_key() const noexcept { return reinterpret_cast<char const*>(this) + 2; }

// Takes back what an earlier run promised: before anybody of this run waits, so that nobody is to be woken for it.
void shared_mutex::settle(std::uint32_t epoch) noexcept {
  if (!has_broken_promise(promised_, epoch)) return;
  M* const m = current_m();
  if (m != nullptr && m->sched.epoch == epoch) {
    enter(*m);
    wait_bucket& bucket = m->sched.waiters.bucket_of(this);
    bucket.acquire();
    state_.fetch_sub(take_back(promised_, epoch), relaxed);  // relaxed: nobody was inside
    bucket.release();
    leave(*m);
  } else if (epoch == 0) {
    state_.fetch_sub(take_back(promised_, epoch), relaxed);
  }
}

// --- writers ---

bool shared_mutex::take_if_free(std::uint32_t epoch) noexcept {
  word seen = state_.load(relaxed);
  return unstamped(seen, flags, epoch) == 0 &&
         state_.compare_exchange(seen, held, acquire, relaxed);  // pairs with the release of whoever left last
}

bool shared_mutex::try_lock_slow() noexcept {
  std::uint32_t const epoch = live_epoch();
  settle(epoch);
  return take_if_free(epoch);
}

void shared_mutex::lock_slow() {
  if (try_lock_slow()) return;
  std::uint32_t const epoch = live_epoch();
  M& m = enter_to_wait("shared_mutex::lock");
  if ((state_.load(relaxed) & writers_wait) == 0 &&
      poll(m, newcomer_patience_ns, [&] { return take_if_free(epoch); })) {
    leave(m);
    return;
  }
  sudog& waiter = prepare_to_wait(m);
  wait_bucket& bucket = m.sched.waiters.bucket_of(this);
  bucket.acquire();
  word seen = state_.load(relaxed);
  word now = 0;
  word next = 0;
  do {
    now = unstamped(seen, flags, epoch);
    next = now == 0 ? held : stamped(now | writers_wait, flags, epoch);
  } while (!state_.compare_exchange_weak(seen, next, acquire, relaxed));  // pairs with the release of whoever left last
  M* here = &m;
  if (now == 0) {
    bucket.release();
  } else {
    here = &wait_in(m, bucket, waiter, writers_key(), wait_reason::write_lock, queue_end::back);
    accept(promised_, held);
  }
  put_sudog(*here->p, &waiter);
  leave(*here);
}

void shared_mutex::unlock_slow() noexcept {
  std::uint32_t const epoch = live_epoch();
  word seen = state_.load(relaxed);
  for (;;) {
    word const now = unstamped(seen, flags, epoch);
    if ((now & held) == 0) {
      fatal("unlock of %s",
            (now & readers) != 0 ? "a shared_mutex that is read-locked, not write-locked" : "an unlocked shared_mutex");
    }
    if ((now & flags) != 0) break;
    // Readers that are just coming see that it is free; release pairs with their acquire.
    if (state_.compare_exchange_weak(seen, now & ~held, release, relaxed)) return;
  }
  M& m = enter_to_wake("shared_mutex::unlock", epoch);
  wait_bucket& bucket = m.sched.waiters.bucket_of(this);
  bucket.acquire();
  g_list woken = hand_over(bucket, epoch);
  bucket.release();  // it may be gone now
  ready_all(m, woken);
  leave(m);
}

// A writer leaves: all readers that wait go first, then the next writer.
g_list shared_mutex::hand_over(wait_bucket& bucket, std::uint32_t epoch) noexcept {
  g_list woken = take_all(bucket, readers_key());
  word const entering = woken.size();
  if (entering != 0) promise(promised_, entering, epoch);
  word seen = state_.load(relaxed);
  word next = 0;
  bool to_writer = false;
  do {
    word const now = unstamped(seen, flags, epoch);
    next = (now & ~(held | readers_wait)) + entering;
    // Readers that are just coming are counted: if they must wait after all, the last of them lets the writer in.
    to_writer = (next & (writers_wait | readers)) == writers_wait;
    if (to_writer) next = with_first_writer(next, bucket);
    // release: the next ones see what we did; acquire: and what those before us did
  } while (!state_.compare_exchange_weak(seen, stamped(next, flags, epoch), acq_rel, relaxed));
  if (to_writer) woken.push_back(take_first_writer(bucket, epoch));
  return woken;
}

// `free_state`, with nobody inside, after the first writer that waits has got it.
word shared_mutex::with_first_writer(word free_state, wait_bucket& bucket) const noexcept {
  bool const is_last = bucket.first(writers_key())->next == nullptr;
  return (free_state & ~(is_last ? writers_wait : 0)) | held;
}

G& shared_mutex::take_first_writer(wait_bucket& bucket, std::uint32_t epoch) noexcept {
  promise(promised_, held, epoch);
  bool more = false;
  return *bucket.dequeue(writers_key(), more)->g;
}

// --- readers ---

bool shared_mutex::try_lock_shared_slow() noexcept {
  std::uint32_t const epoch = live_epoch();
  settle(epoch);
  word seen = state_.load(relaxed);
  for (;;) {
    word const now = unstamped(seen, flags, epoch);
    if (now > readers) return false;
    if (state_.compare_exchange_weak(seen, now + reader, acquire, relaxed))
      return true;  // pairs with a writer's release
  }
}

void shared_mutex::lock_shared_slow(word before) {
  std::uint32_t const epoch = live_epoch();
  if (unstamped(before, flags, epoch) <= readers) return;  // flags of a run that is over
  settle(epoch);
  // acquire pairs with the writer's release
  if (unstamped(state_.load(acquire), flags, epoch) <= readers) return;
  try {
    M& m = enter_to_wait("shared_mutex::lock_shared");
    leave(wait_to_read(m, epoch));
  } catch (...) {
    uncount_reader();
    throw;
  }
}

M& shared_mutex::wait_to_read(M& m, std::uint32_t epoch) {
  // Invariant 1: we are counted. (acquire pairs with the writer's release.)
  if ((state_.load(relaxed) & writers_wait) == 0 &&
      poll(m, newcomer_patience_ns, [this] { return (state_.load(acquire) & held) == 0; })) {
    return m;
  }
  sudog& waiter = prepare_to_wait(m);
  wait_bucket& bucket = m.sched.waiters.bucket_of(this);
  M* here = &m;
  bucket.acquire();
  for (word counted = reader;;) {
    word seen = state_.load(relaxed);
    word const now = unstamped(seen, flags, epoch);
    bool const enters = now <= readers;
    word next = enters ? now - counted + reader : now - counted;
    bool const to_writer = !enters && (next & (held | readers)) == 0;
    if (to_writer) {
      next = with_first_writer(next, bucket);
    } else if (!enters) {
      next |= readers_wait;
    }
    // acquire pairs with the last writer's release; release: a writer that is let in sees what all readers did
    if (!state_.compare_exchange(seen, stamped(next, flags, epoch), acq_rel, relaxed)) continue;
    if (enters) {
      bucket.release();
      break;
    }
    if (!to_writer) {
      here = &wait_in(m, bucket, waiter, readers_key(), wait_reason::read_lock, queue_end::back);
      accept(promised_, reader);
      break;
    }
    counted = 0;
    G& writer = take_first_writer(bucket, epoch);
    bucket.release();
    ready(m, writer);
    bucket.acquire();
  }
  put_sudog(*here->p, &waiter);
  return *here;
}

// We came to read and cannot even wait.
void shared_mutex::uncount_reader() noexcept {
  word const before = unstamped(state_.fetch_sub(reader, release), flags, live_epoch());  // as unlock_shared
  if ((before & (held | writers_wait | readers)) == (writers_wait | reader)) let_writer_in("shared_mutex::lock_shared");
}

void shared_mutex::unlock_shared_slow(word before) noexcept {
  if ((before & held) != 0) fatal("unlock_shared of a shared_mutex that is write-locked, not read-locked");
  if ((before & readers) == 0) fatal("unlock_shared of an unlocked shared_mutex");
  word const now = unstamped(before, flags, live_epoch());
  if ((now & (writers_wait | readers)) == (writers_wait | reader)) let_writer_in("shared_mutex::unlock_shared");
}

// The last reader has left, and a writer waits; or has been let in meanwhile, and the shared_mutex may be gone.
void shared_mutex::let_writer_in(char const* what) noexcept {
  std::uint32_t const epoch = live_epoch();
  M& m = enter_to_wake(what, epoch);
  wait_bucket& bucket = m.sched.waiters.bucket_of(this);
  G* writer = nullptr;
  bucket.acquire();
  if (bucket.has_waiters(writers_key())) {
    word seen = state_.load(relaxed);
    // Others who are inside will let it in when they leave.
    while (writer == nullptr && (seen & (held | readers)) == 0) {
      word const next = with_first_writer(unstamped(seen, flags, epoch), bucket);
      // acquire: the writer sees what all readers did; release: nothing of ours, but of those whose place it takes
      if (state_.compare_exchange_weak(seen, stamped(next, flags, epoch), acq_rel, relaxed)) {
        writer = &take_first_writer(bucket, epoch);
      }
    }
  }
  bucket.release();
  if (writer != nullptr) ready(m, *writer);
  leave(m);
}

}  // namespace thrum
