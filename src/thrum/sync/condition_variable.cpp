// Waiting for a change (Go's notifyList).
//
// The waiter must be in the queue before it unlocks the mutex, because otherwise a notification in between would be
// lost. It cannot keep the bucket locked until it parks, because unlocking the mutex may need the lock of another
// bucket. So for a moment the waiter stands in the queue and still runs (still_runs). A notifier that takes it out then
// sets handed_over, which the waiter finds when it has locked the bucket once more to park.
#include "base/check.h"
#include "os/futex.h"
#include "sync/misuse.h"
#include "sync/stamp.h"
#include "sync/wait.h"
#include <thrum/condition_variable.h>

#include <new>
#include <stdexcept>

namespace thrum {

using namespace rt;

namespace {

// For a foreign thread whose run has ended between two steps. It sleeps for good, like all waiters of that run.
[[noreturn]] void wait_for_good() noexcept {
  Sched::threads_asleep_for_good.fetch_add(1, relaxed);
  os::sleep_for_good();
}

}  // namespace

std::cv_status condition_variable::wait_until_ns(std::unique_lock<mutex>& lock, std::int64_t deadline_ns) {
  if (!lock.owns_lock())
    misuse("condition_variable::wait: the caller does not hold the mutex; lock it before the call");
  if (is_left_behind()) lock.mutex()->unlock();  // the caller waits for good below, and others may need the mutex
  M* m = &enter_to_wait("condition_variable::wait");
  sudog& waiter = prepare_to_wait(*m);
  waiter.still_runs = true;
  wait_bucket& bucket = m->sched.waiters.bucket_of(&state_);
  bucket.acquire();
  // release: rule 1 of sync/stamp.h. A notifier that comes after this waiter has had the mutex after it
  state_.store(stamped(waited_for, waited_for, m->sched.epoch), release);
  bucket.enqueue(waiter, &state_, queue_end::back);
  bucket.release();
  Sched const& run = m->sched;
  keep_run(*m);
  leave_runtime(*m);

  lock.mutex()->unlock();
  m = callers_m();  // it may be another M than before
  if (m == nullptr || &m->sched != &run) wait_for_good();
  enter_runtime(*m);
  let_run_go(*m);
  sleep_if_left_behind(*m);
  bucket.acquire();
  waiter.still_runs = false;
  timed_wait end{m, wait_outcome::woken};
  if (waiter.handed_over) {
    bucket.release();
  } else {
    end = wait_there(*m, bucket, waiter, wait_reason::condition_variable, deadline_ns);
    if (end.how != wait_outcome::woken) {
      if (end.stood_there && !bucket.has_waiters(&state_)) state_.store(0, relaxed);  // as above
      bucket.release();
    }
  }
  put_sudog(*end.m->p, &waiter);
  leave_runtime(*end.m);
  [&]() noexcept {  // the caller cannot go on without the mutex: as std::condition_variable
    try {
      lock.mutex()->lock();
    } catch (std::logic_error const&) {  // the run is over
      wait_for_good();
    }
  }();
  if (end.how == wait_outcome::no_memory) throw std::bad_alloc();
  return end.how == wait_outcome::timed_out ? std::cv_status::timeout : std::cv_status::no_timeout;
}

void condition_variable::wait(std::unique_lock<mutex>& lock) { static_cast<void>(wait_until_ns(lock, no_deadline)); }

[[gnu::noinline]] void condition_variable::notify_slow(how_many which) noexcept {
  run_stamp<word> const seen(state_, waited_for);
  if (!seen.has(waited_for)) return;  // the waiters belong to a run that is over
  M* const found = enter_to_wake(seen.epoch());
  if (found == nullptr) return;
  M& m = *found;
  wait_bucket& bucket = m.sched.waiters.bucket_of(&state_);
  bucket.acquire();
  if (!bucket.has_waiters(&state_)) {  // another notification has woken them, and the object may be gone
    bucket.release();
  } else if (which == how_many::all) {
    state_.store(0, relaxed);                           // relaxed: as in wait
    release_all(m, bucket, &state_, site_of_caller());  // the object may be gone from here on
  } else {
    bool more = false;
    sudog* const first = bucket.dequeue(&state_, more);
    if (!more) state_.store(0, relaxed);  // relaxed: as in wait
    bool const is_parked = first != nullptr && !first->still_runs;
    if (first != nullptr && !is_parked) first->handed_over = true;
    bucket.release();  // the object may be gone from here on
    if (is_parked) ready(m, *first->g, site_of_caller());
  }
  leave_runtime(m);
}

}  // namespace thrum
