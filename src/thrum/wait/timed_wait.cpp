#include "wait/timed_wait.h"

#include "os/chaos.h"
#include "sched/park.h"
#include "sched/timekeeper.h"
#include "wait/wait_timer.h"

namespace thrum::rt {
namespace {

struct limited_wait {
  wait_bucket& bucket;
  wait_timer limit;
};

void commit_limited_wait(M& m, G&, void* argument) noexcept {
  auto& wait = *static_cast<limited_wait*>(argument);
  wait_bucket& bucket = wait.bucket;
  // From the start of the timer on, the goroutine may be woken, so `wait`, which is in its frame, is not used after
  // that. The bucket may be used until it is released, because a goroutine that the timer wakes takes the bucket's lock
  // before it leaves.
  added_as const place = wait.limit.start(m);
  os::chaos_point("timed_wait.started");
  bucket.release();
  timer_was_left(m, place);
}

timed_wait park_until(M& m, limited_wait& wait, sudog& waiter, wait_reason reason) noexcept {
  G& g = *m.current;
  waiter.in_race = true;
  g.race.begin();
  M& here =
      park(m, reason, commit_limited_wait, &wait, commit_holds::lock, reinterpret_cast<std::uintptr_t>(waiter.address));
  bool const timed_out = wait.limit.finish(g);
  bool stood_there = true;
  if (timed_out) {
    os::chaos_point("timed_wait.late");
    wait.bucket.acquire();
    bool more = false;
    stood_there = wait.bucket.remove(waiter, more);  // a waker that lost the race may have taken it out
  }
  waiter.in_race = false;
  g.race.over();
  return {&here, timed_out ? wait_outcome::timed_out : wait_outcome::woken, stood_there};
}

}  // namespace

timed_wait wait_in_until(M& m, wait_bucket& bucket, sudog& waiter, void const* address, wait_reason reason,
                         queue_end where, std::int64_t deadline_ns) noexcept {
  limited_wait wait{bucket, {}};
  if (!wait.limit.prepare(m, deadline_ns)) return {&m, wait_outcome::no_memory};
  bucket.enqueue(waiter, address, where);
  return park_until(m, wait, waiter, reason);
}

timed_wait wait_there_until(M& m, wait_bucket& bucket, sudog& waiter, wait_reason reason,
                            std::int64_t deadline_ns) noexcept {
  limited_wait wait{bucket, {}};
  if (!wait.limit.prepare(m, deadline_ns)) {
    // A broadcast may have detached the queue and not have reached this waiter yet. Goroutines that it has woken may
    // have destroyed the object.
    bool more = false;
    bool const stood_there = bucket.remove(waiter, more);
    return {&m, wait_outcome::no_memory, stood_there};
  }
  return park_until(m, wait, waiter, reason);
}

}  // namespace thrum::rt
