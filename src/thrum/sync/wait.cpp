#include "sync/wait.h"

#include "base/check.h"
#include "core/forked.h"
#include "core/trace.h"
#include "os/chaos.h"
#include "os/clock.h"
#include "sync/lock_holders.h"

#include <new>
#include <stdexcept>
#include <string>

namespace thrum::rt {
namespace {

void release_bucket(M&, G&, void* bucket) noexcept { static_cast<wait_bucket*>(bucket)->release(); }

// For traces: names the goroutine that holds the lock, if the current goroutine is about to wait for one. Called under
// the bucket's lock.
[[gnu::noinline]] void note_holder(M& m, void const* address) noexcept {
  std::uint64_t const holder = lock_holders::goroutine(address, m.sched.epoch);
  if (holder != 0) trace::finds_held(m, *m.current, holder);
}

}  // namespace

void throw_not_a_goroutine(char const* what) {
  throw std::logic_error(std::string("thrum: ") + what + " would have to wait, but " + why_no_runtime());
}

void sleep_unless_exiting(M& m) noexcept {
  if (!goes_on_to_exit(m)) sleep_for_good(m);
}

sudog& prepare_to_wait(M& m) {
  sleep_if_left_behind(m);
  sudog* const waiter = take_sudog(*m.p);
  if (waiter == nullptr) {
    leave_runtime(m);
    throw std::bad_alloc();
  }
  waiter->g = m.current;
  return *waiter;
}

void end_wait(M& m, sudog& waiter, wait_outcome how) {
  put_sudog(*m.p, &waiter);
  leave_runtime(m);
  if (how == wait_outcome::no_memory) throw std::bad_alloc();
}

namespace {

timed_wait wait_unmeasured(M& m, wait_bucket& bucket, sudog& waiter, void const* address, wait_reason reason,
                           queue_end where, std::int64_t deadline_ns) noexcept {
  if (m.sched.trace.is_on()) [[unlikely]]
    note_holder(m, address);
  if (deadline_ns != no_deadline) {
    return wait_in_until(m, bucket, waiter, address, reason, where, deadline_ns);
  }
  bucket.enqueue(waiter, address, where);
  os::chaos_point("sync.queued");
  auto const object = reinterpret_cast<std::uintptr_t>(address);
  return {&park(m, reason, release_bucket, &bucket, commit_holds::lock, object), wait_outcome::woken};
}

}  // namespace

// Waits for locks are always measured. A goroutine that comes here has found its lock taken, so two looks at the clock
// are a small part of what it costs.
timed_wait wait_in(M& m, wait_bucket& bucket, sudog& waiter, void const* address, wait_reason reason, queue_end where,
                   std::int64_t deadline_ns) noexcept {
  bool const is_measured = is_for_lock(reason) && !m.sched.trace.measures_waits();  // if so, park measures it
  if (!is_measured) return wait_unmeasured(m, bucket, waiter, address, reason, where, deadline_ns);
  std::int64_t const since_ns = os::monotonic_ns();
  timed_wait const end = wait_unmeasured(m, bucket, waiter, address, reason, where, deadline_ns);
  if (end.how != wait_outcome::no_memory) note_end_of_wait(*end.m, reason, since_ns);
  return end;
}

timed_wait wait_there(M& m, wait_bucket& bucket, sudog& waiter, wait_reason reason, std::int64_t deadline_ns) noexcept {
  if (deadline_ns != no_deadline) return wait_there_until(m, bucket, waiter, reason, deadline_ns);
  auto const object = reinterpret_cast<std::uintptr_t>(waiter.address);
  return {&park(m, reason, release_bucket, &bucket, commit_holds::lock, object), wait_outcome::woken};
}

g_list take_all(wait_bucket& bucket, void const* address) noexcept {
  g_list taken;
  for (bool more = true; more;) {
    if (sudog* const next = bucket.dequeue(address, more)) taken.push_back(*next->g);
  }
  return taken;
}

}  // namespace thrum::rt
