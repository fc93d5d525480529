// Waiting for a change (Go's notifyList).
//
// The waiter must be in the queue before it lets the mutex go, or a notification in between would be lost; and it cannot
// park holding the bucket's lock, since letting the mutex go may need that of another bucket. So for a moment it stands in
// the queue and still runs: the goroutine's race (core/wake_race.h) lets whoever takes it out then leave the readying to
// the commit of its park.
#include "base/check.h"
#include "sync/stamp.h"
#include "sync/wait.h"
#include <thrum/condition_variable.h>

namespace thrum {

using namespace rt;

namespace {

void commit_wait(M& m, G& left, void*) noexcept {
  if (!left.race.commit()) ready(m, left);  // notified already
}

// It stood in the queue and was taken out; true: it is parked and must be readied.
bool is_to_be_readied(G& g) noexcept { return g.race.win_any() == wake_race::outcome::won; }

}  // namespace

void condition_variable::wait(std::unique_lock<mutex>& lock) {
  if (!lock.owns_lock()) fatal("condition_variable::wait without holding the mutex");
  M* m = &enter_to_wait("condition_variable::wait");
  sudog& waiter = prepare_to_wait(*m);
  G& g = *m->current;
  g.race.prepare();
  wait_bucket& bucket = m->sched.waiters.bucket_of(&state_);
  bucket.acquire();
  // relaxed: whoever notifies after us has had the mutex after us
  state_.store(stamped(waited_for, waited_for, m->sched.epoch), relaxed);
  bucket.enqueue(waiter, &state_, queue_end::back);
  bucket.release();
  leave(*m);

  lock.mutex()->unlock();
  m = current_m();
  enter(*m);
  m = &park(*m, wait_reason::condition_variable, commit_wait, nullptr, commit_holds::nothing);
  g.race.over();
  put_sudog(*m->p, &waiter);
  leave(*m);
  [&]() noexcept { lock.mutex()->lock(); }();  // without the mutex we cannot go on: as std::condition_variable
}

void condition_variable::notify_slow(how_many which) noexcept {
  std::uint32_t const epoch = live_epoch();
  if (unstamped(state_.load(relaxed), waited_for, epoch) == 0) return;  // they waited in a run that is over
  M& m = enter_to_wake("condition_variable::notify", epoch);
  wait_bucket& bucket = m.sched.waiters.bucket_of(&state_);
  g_list woken;
  bucket.acquire();
  bool more = bucket.has_waiters(&state_);
  // One that has not parked yet may go on as soon as it is told: the state changes before.
  if (which == how_many::all && more) state_.store(0, relaxed);
  while (more) {
    G& g = *bucket.dequeue(&state_, more)->g;
    if (which == how_many::one && !more) state_.store(0, relaxed);
    if (is_to_be_readied(g)) woken.push_back(g);
    if (which == how_many::one) break;
  }
  bucket.release();
  ready_all(m, woken);
  leave(m);
}

}  // namespace thrum
