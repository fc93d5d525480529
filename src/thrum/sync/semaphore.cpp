// The slow paths of semaphore (Go's weighted semaphore, T14).
//
// Invariants:
//  1. `waited_for` is set exactly while a goroutine stands in the bucket. It changes under the bucket's lock. While it
//     is set, the count changes only under that lock too, because the fast paths do not act then.
//  2. While it is set, there are fewer permits than the first waiter in the bucket wants, or a goroutine that serves
//     many waiters has released the bucket's lock for a moment and will go on. Another goroutine that gets the lock
//     meanwhile may serve them too.
//  3. A goroutine that is woken has its permits.
#include "base/check.h"
#include "base/heuristics.h"
#include "os/chaos.h"
#include "sync/misuse.h"
#include "sync/stamp.h"
#include "sync/wait.h"
#include <thrum/semaphore.h>

namespace thrum {

using namespace rt;

void semaphore::refuse(char const* what, std::int64_t n) noexcept {
  if (n < 0) misuse("%s: the number of permits must not be negative, but it is %lld", what, static_cast<long long>(n));
  misuse("%s: %lld permits are too many; a semaphore can have at most %lld", what, static_cast<long long>(n),
         static_cast<long long>(max()));
}

// Releases what an earlier run has promised to goroutines that never came. Every caller does so before it waits.
//
// While a run is alive, both steps are done inside the runtime, because a goroutine could be stopped for good between
// them by the end of its run, and the permits would be lost. While no run is alive, a goroutine that its run has left
// behind does nothing, for the same reason.
void semaphore::release_broken_promises() noexcept {
  if (!has_broken_promise(promised_)) return;
  std::uint32_t const epoch = live_epoch();
  bool const is_done = wake_in_bucket(epoch, &state_, [&](wait_bucket& bucket, g_list& woken) {
    word const permits = take_broken_promise(promised_);
    if (permits != 0) give_locked(bucket, static_cast<std::int64_t>(permits), woken, epoch);
  });
  if (is_done || is_left_behind()) return;
  if (word const permits = take_broken_promise(promised_)) release_slow(static_cast<std::int64_t>(permits));
}

// Releases n permits under the bucket's lock, so that `waited_for` cannot change meanwhile.
void semaphore::give_locked(wait_bucket& bucket, std::int64_t n, g_list& woken, std::uint32_t epoch) noexcept {
  run_stamp<word> seen(state_, waited_for, epoch);
  for (;;) {
    if (n > max() - count_of(seen.now())) refuse("semaphore::release", n);
    if (seen.has(waited_for)) return serve(bucket, n, woken, epoch);
    if (seen.change_to(seen.now() + one * static_cast<word>(n))) return;
  }
}

bool semaphore::try_acquire_slow(std::int64_t n) noexcept {
  if (!is_valid(n)) refuse("semaphore::acquire", n);
  release_broken_promises();
  for (run_stamp<word> seen(state_, waited_for);;) {
    if (seen.has(waited_for) || n > count_of(seen.now())) return false;
    if (seen.change_to(seen.now() - one * static_cast<word>(n))) return true;
  }
}

void semaphore::acquire_slow(std::int64_t n) {
  if (!try_acquire_slow(n)) static_cast<void>(wait_to_acquire(n, "semaphore::acquire", no_deadline));
}

bool semaphore::try_acquire_until_ns(std::int64_t deadline_ns, std::int64_t n) {
  if (try_acquire_slow(n)) return true;
  return detail::clock_ns() < deadline_ns && wait_to_acquire(n, "semaphore::try_acquire_for", deadline_ns);
}

bool semaphore::wait_to_acquire(std::int64_t n, char const* what, std::int64_t deadline_ns) {
  M& m = enter_to_wait(what);
  std::uint32_t const epoch = m.sched.epoch;
  sudog& waiter = prepare_to_wait(m);
  waiter.wanted = n;
  wait_bucket& bucket = m.sched.waiters.bucket_of(&state_);
  bucket.acquire();
  run_stamp<word> seen(state_, waited_for, epoch);
  bool taken = false;
  do {
    taken = !seen.has(waited_for) && n <= count_of(seen.now());
  } while (!seen.change_to(taken ? seen.now() - one * static_cast<word>(n) : seen.now() | waited_for));
  if (taken) {
    bucket.release();
    end_wait(m, waiter);
    return true;
  }
  auto const end = wait_in(m, bucket, waiter, &state_, wait_reason::semaphore, queue_end::back, deadline_ns);
  if (end.how == wait_outcome::woken) {
    accept(promised_, static_cast<word>(n));
  } else {
    g_list woken;
    // A waiter that stood behind this one may find enough permits.
    if (run_stamp<word>(state_, waited_for, epoch).has(waited_for)) serve(bucket, 0, woken, epoch);
    bucket.release();
    ready_all(*end.m, woken);
  }
  end_wait(*end.m, waiter, end.how);
  return end.how == wait_outcome::woken;
}

// Adds `given` permits. Takes those waiters at the head of the bucket out of it that can have what they want. Called
// under the bucket's lock, which is released in between if there are many.
void semaphore::serve(wait_bucket& bucket, std::int64_t given, g_list& woken, std::uint32_t epoch) noexcept {
  // The waiters that were taken out are woken at the end, by the caller. Until then they keep the semaphore alive. If
  // other goroutines have served the rest meanwhile, no waiter of this semaphore stands in the bucket.
  while (serve_some(bucket, given, woken, epoch) == more_to_serve::perhaps) {
    bucket.release();
    os::chaos_point("semaphore.serves_on");
    bucket.acquire();
    if (!bucket.has_waiters(&state_)) return;
    given = 0;
  }
}

// Called under the bucket's lock, while `waited_for` is set. So by invariant 1 no other thread changes the state.
semaphore::more_to_serve semaphore::serve_some(wait_bucket& bucket, std::int64_t given, g_list& woken,
                                               std::uint32_t epoch) noexcept {
  std::int64_t available = count_of(state_.load(relaxed)) + given;
  word served = 0;
  std::uint32_t looked_at = 0;
  sudog* first = bucket.first(&state_);
  for (; first != nullptr && first->wanted <= available && looked_at < woken_at_once; first = bucket.first(&state_)) {
    ++looked_at;
    if (!bucket.take(*first)) continue;  // it has just given up
    available -= first->wanted;
    served += static_cast<word>(first->wanted);
    woken.push_back(*first->g);
  }
  if (served != 0) promise(promised_, served, epoch);
  word const left = one * static_cast<word>(available) | (first != nullptr ? waited_for : 0);
  // release pairs with the acquire of the goroutine that takes the permits. acquire: a woken goroutine sees what all
  // goroutines did that released permits
  state_.exchange(stamped(left, waited_for, epoch), acq_rel);
  return first != nullptr && first->wanted <= available ? more_to_serve::perhaps : more_to_serve::no;
}

[[gnu::noinline]] void semaphore::release_slow(std::int64_t n) noexcept {
  if (!is_valid(n)) refuse("semaphore::release", n);
  for (run_stamp<word> seen(state_, waited_for);;) {
    if (n > max() - count_of(seen.now())) refuse("semaphore::release", n);
    if (seen.has(waited_for)) {
      if (release_to_waiters(n, seen.epoch(), site_of_caller())) return;
      seen.look_again();
    } else if (seen.change_to(seen.now() + one * static_cast<word>(n))) {
      return;
    }
  }
}

// Returns false if the waiters have been served meanwhile, or if their run is over.
bool semaphore::release_to_waiters(std::int64_t n, std::uint32_t epoch, std::uintptr_t site) noexcept {
  bool they_wait = false;
  auto const give = [&](wait_bucket& bucket, g_list& woken) {
    they_wait = bucket.has_waiters(&state_);
    if (they_wait) serve(bucket, n, woken, epoch);
  };
  return wake_in_bucket(epoch, &state_, give, site) && they_wait;
}

}  // namespace thrum
