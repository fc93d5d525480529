#include "base/check.h"
#include "os/clock.h"
#include "sync/wait.h"
#include <thrum/mutex.h>

namespace thrum {

using namespace rt;

namespace {

// Go's values: a few rounds of some tens of pauses are cheaper than a park, if the owner runs on another P.
constexpr int spin_rounds = 4;
constexpr int pauses_per_round = 30;

}  // namespace

// Worth it only if the owner can be running: not with one P.
bool mutex::spin_for_it(int procs) noexcept {
  if (procs == 1) return false;
  for (int round = 0; round < spin_rounds; ++round) {
    for (int i = 0; i < pauses_per_round; ++i) cpu_relax();
    if (try_lock()) return true;
    if ((state_.load(relaxed) & starving) != 0) return false;
  }
  return false;
}

std::uint32_t mutex::flags_of(std::uint32_t seen, std::uint32_t epoch) noexcept {
  return seen >> epoch_shift == epoch ? seen & ~(epoch << epoch_shift) : seen & locked;
}

std::uint32_t mutex::stamped(std::uint32_t flags, std::uint32_t epoch) noexcept {
  return (flags & ~locked) != 0 ? flags | epoch << epoch_shift : flags;
}

void mutex::lock_slow() {
  if (try_lock()) return;  // free, but somebody waits or is on his way
  M* m = &enter_to_wait("mutex::lock");
  if (spin_for_it(m->sched.options.procs)) {
    leave(*m);
    return;
  }
  sudog& waiter = prepare_to_wait(*m);
  wait_bucket& bucket = m->sched.waiters.bucket_of(this);
  std::uint32_t const epoch = m->sched.epoch;
  std::int64_t const since_ns = os::monotonic_ns();
  waiter.since_ns = since_ns;
  m->current->waits_since_ns = since_ns;
  bool was_woken = false;
  bool has_starved = false;
  for (;;) {
    bucket.acquire();
    std::uint32_t seen = state_.load(relaxed);
    std::uint32_t next = 0;
    bool taken = false;
    do {
      std::uint32_t const flags = flags_of(seen, epoch);
      taken = (flags & locked) == 0;
      next = taken ? flags | locked : flags | waiters | (has_starved ? starving : 0);
      if (was_woken) next &= ~woken;
    } while (
        !state_.compare_exchange_weak(seen, stamped(next, epoch), acquire, relaxed));  // pairs with the last unlock
    if (taken) {
      bucket.release();
      break;
    }
    m = &wait_in(*m, bucket, waiter, this, wait_reason::mutex, was_woken ? queue_end::front : queue_end::back);
    if (waiter.handed_over) break;  // it is ours already
    was_woken = true;
    has_starved = os::monotonic_ns() - since_ns > starvation_threshold_ns;
  }
  put_sudog(*m->p, &waiter);
  leave(*m);
}

void mutex::unlock_slow(std::uint32_t seen) noexcept {
  M* const m = current_m();
  std::uint32_t const epoch = Sched::live_epoch.load(relaxed);
  // Nobody waits in this run, or one of those who do is on his way: nothing to do but to let go, with one operation.
  for (std::uint32_t flags = flags_of(seen, epoch); (flags & locked) != 0; flags = flags_of(seen, epoch)) {
    if ((flags & waiters) != 0 && (flags & (woken | starving)) != woken) break;
    if (state_.compare_exchange_weak(seen, stamped(flags & ~locked, epoch), release, relaxed)) return;
  }
  if ((seen & locked) == 0) fatal("unlock of an unlocked mutex");
  if (m == nullptr || m->sched.epoch != epoch) {
    fatal("mutex::unlock outside the run whose goroutines wait for the mutex: only a goroutine can wake them");
  }
  enter(*m);
  wait_bucket& bucket = m->sched.waiters.bucket_of(this);
  bucket.acquire();
  bool more = false;
  sudog* const first = bucket.dequeue(this, more);
  std::uint32_t next = more ? waiters : 0;
  if (first != nullptr && (state_.load(relaxed) & starving) != 0) {
    // Handed over: it never looks unlocked. The last one, or one that has not waited long, ends the fair mode.
    first->handed_over = true;
    next |= locked;
    if (more && os::monotonic_ns() - first->since_ns > starvation_threshold_ns) next |= starving;
  } else if (first != nullptr) {
    next |= woken;
  }
  G* const to_wake = first != nullptr ? first->g : nullptr;
  state_.exchange(stamped(next, epoch),
                  acq_rel);  // acquire: a new owner sees what all earlier ones did. It may be gone now
  bucket.release();
  if (to_wake != nullptr) ready(*m, *to_wake);
  leave(*m);
}

}  // namespace thrum
