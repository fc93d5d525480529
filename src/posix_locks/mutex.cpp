// pthread_mutex_lock, _trylock, _timedlock, _clocklock, _unlock.
#include "posix_locks/mutex.h"

#include "posix/here.h"
#include "posix/interpose.h"
#include "posix/limit.h"
#include "posix_locks/lock_waiters.h"
#include "posix_locks/owners.h"
#include "posix_locks/plain.h"
#include "sched/timers.h"

#include <algorithm>

#include <errno.h>

namespace thrum::posix {

using namespace rt;

bool time_limit::is_valid() const noexcept {
  bool const clock_is_known = clock == wall_clock || clock == CLOCK_MONOTONIC;
  return clock_is_known && (moment == nullptr || (moment->tv_nsec >= 0 && moment->tv_nsec < ns_per_s));
}

std::int64_t time_limit::deadline_ns() const noexcept {
  if (moment == nullptr) return without_limit;
  if (moment->tv_sec < 0) return 0;  // long ago
  std::int64_t const at = in_ns(*moment);
  if (clock == CLOCK_MONOTONIC || at == without_limit) return at;
  timespec now{};
  ::clock_gettime(clock, &now);
  std::int64_t const left = at - in_ns(now);
  return left <= 0 ? 0 : deadline_after(left);
}

bool is_over(std::int64_t deadline_ns) noexcept { return deadline_ns != without_limit && now_ns() >= deadline_ns; }

namespace {

// A function of glibc that returns at once, because the caller holds the mutex already or only tries.
using at_once = plain_call<int(pthread_mutex_t*)>;

// Tries to lock a mutex with an owner. Called inside the runtime, under the bucket's lock. If the calling goroutine
// holds the mutex, the result is that of if_mine. Returns EBUSY if another goroutine or thread holds it.
int try_owned(pthread_mutex_t& mutex, at_once& if_mine) noexcept {
  address_bucket& bucket = bucket_of(&mutex, waited_object::mutex);
  switch (look_at_owner(bucket, mutex)) {
    case ownership::mine: return if_mine(&mutex);
    case ownership::anothers: return EBUSY;
    case ownership::free_or_threads: break;
  }
  if (int const error = plain::mutex_trylock(&mutex)) return error;
  if (!note_owner(bucket, mutex)) {
    static_cast<void>(plain::mutex_unlock(&mutex));
    return EAGAIN;  // there is no memory for the record; glibc returns EAGAIN for too many recursive locks
  }
  stay_home(*current_m());
  return 0;
}

int try_owned_once(pthread_mutex_t& mutex, at_once& if_mine) noexcept {
  M& m = *current_m();
  enter_runtime(m);
  int result = 0;
  {
    os::lock_guard const guard(bucket_to_lock(&mutex, waited_object::mutex).lock);
    result = try_owned(mutex, if_mine);
  }
  leave_runtime(m);
  return result;
}

int lock_plainly(pthread_mutex_t& mutex, time_limit limit) noexcept {
  if (limit.moment == nullptr) return plain::mutex_lock(&mutex);
  if (limit.clock == wall_clock) return plain::mutex_timedlock(&mutex, limit.moment);
  return plain::mutex_clocklock(&mutex, limit.clock, limit.moment);
}

// The lengths of short waits, for a waiter that may not be told of the unlock ((d) in lock_waiters.h). They grow,
// because the thread that is about to unlock may have lost its CPU.
class short_waits {
 public:
  [[nodiscard]] std::int64_t next_deadline_ns() noexcept {
    std::int64_t const at = now_ns() + length_ns_;
    length_ns_ = std::min(2 * length_ns_, max_ns);
    return at;
  }

 private:
  static constexpr std::int64_t first_ns = 20'000;  // as long as waking a thread takes
  static constexpr std::int64_t max_ns = 1'000'000;
  std::int64_t length_ns_ = first_ns;
};

constexpr int cannot_wait = -1;  // no errno

// Waits until the mutex is locked, the time is over, or tries() fails with another error than EBUSY. Returns
// cannot_wait if the goroutine cannot park.
template <class Try>
int stand_until_locked(pthread_mutex_t& mutex, std::int64_t deadline_ns, Try tries) noexcept {
  lock_waiter here(&mutex, waited_object::mutex);
  if (!here.enter()) return cannot_wait;
  bool has_parked = false;
  for (short_waits unseen;;) {
    bool const is_late = is_over(deadline_ns);
    int const result = here.attempt(is_late ? lock_waiter::last_time::yes : lock_waiter::last_time::no, tries);
    if (result != EBUSY) return result;
    if (is_late) {
      if (!has_parked) thrum::yield();  // for callers that try in a loop with limits that have passed
      return ETIMEDOUT;
    }
    bool const looks_again = may_be_unlocked_unseen(mutex);
    if (!here.park(looks_again ? std::min(deadline_ns, unseen.next_deadline_ns()) : deadline_ns)) {
      int const last = here.attempt(lock_waiter::last_time::yes, tries);
      return last == EBUSY ? cannot_wait : last;
    }
    has_parked = true;
  }
}

// Locks a mutex with an owner where the thread itself has to wait. The mutex belongs to the goroutine all the same, and
// the goroutine is at home on the thread. It fails if the holder is a goroutine of the same thread. That goroutine
// could not continue to unlock the mutex, and glibc would take the two for one owner.
int lock_owned_plainly(pthread_mutex_t& mutex, time_limit limit) noexcept {
  int const is_neighbours = is_recursive(mutex) ? EAGAIN : EDEADLK;
  address_bucket& bucket = bucket_to_lock(&mutex, waited_object::mutex);
  M& m = *current_m();
  int result = 0;
  enter_runtime(m);
  stay_home(m);
  {
    os::lock_guard const guard(bucket.lock);
    if (look_at_owner(bucket, mutex) == ownership::anothers && owner_of(mutex) == m.tid) result = is_neighbours;
  }
  leave_runtime(m);
  if (result == 0) result = lock_plainly(mutex, limit);
  bool was_had = false;
  enter_runtime(m);
  if (result == 0) {
    os::lock_guard const guard(bucket.lock);
    // No other goroutine has run on this thread meanwhile, so no other goroutine owns the mutex. The call drops an
    // invalid record.
    [[maybe_unused]] ownership const others = look_at_owner(bucket, mutex);
    THRUM_DCHECK(others == ownership::free_or_threads);
    if (!note_owner(bucket, mutex)) {
      static_cast<void>(plain::mutex_unlock(&mutex));
      result = EAGAIN;
      was_had = true;
    }
  }
  if (result != 0) leave_home(m);
  leave_runtime(m);
  if (was_had) was_unlocked(&mutex);
  return result;
}

// Locks a mutex that another goroutine or thread holds.
THRUM_OPAQUE int wait_for(pthread_mutex_t& mutex, mutex_kind kind, time_limit limit) noexcept {
  if (!limit.is_valid()) return EINVAL;
  if (must_not_park()) return kind == mutex_kind::owned ? lock_owned_plainly(mutex, limit) : lock_plainly(mutex, limit);
  at_home const here;
  int const errno_before = errno;
  int result =
      kind == mutex_kind::unowned
          ? stand_until_locked(mutex, limit.deadline_ns(), [&] { return plain::mutex_trylock(&mutex); })
          : stand_until_locked(mutex, limit.deadline_ns(), [&] { return try_owned(mutex, plain::mutex_lock); });
  if (result == cannot_wait) {
    result = kind == mutex_kind::unowned ? lock_plainly(mutex, limit) : lock_owned_plainly(mutex, limit);
  }
  errno = errno_before;
  return result;
}

int unlock_owned(pthread_mutex_t& mutex) noexcept {
  M& m = *current_m();
  enter_runtime(m);
  bool was_mine = false;
  bool is_last = true;
  {
    address_bucket& bucket = bucket_to_lock(&mutex, waited_object::mutex);
    os::lock_guard const guard(bucket.lock);
    switch (look_at_owner(bucket, mutex)) {
      case ownership::anothers: is_last = false; break;
      case ownership::free_or_threads: break;
      case ownership::mine:
        was_mine = true;
        is_last = !is_recursive(mutex) || depth_of(mutex) == 1;
        // The record is removed before the unlock, because another holder may have the mutex right after it. No other
        // goroutine of this thread runs in between.
        if (is_last) forget_owner(bucket, mutex);
        break;
    }
  }
  leave_runtime(m);
  if (!was_mine && !is_last) return EPERM;
  int const result = plain::mutex_unlock(&mutex);
  if (result != 0 || !is_last) return result;
  was_unlocked(&mutex);
  if (was_mine) {
    M& same = *current_m();
    enter_runtime(same);
    leave_home(same);
    leave_runtime(same);
  }
  return 0;
}

}  // namespace

int lock_on_goroutine(pthread_mutex_t& mutex, time_limit limit) noexcept {
  mutex_kind const kind = kind_of(mutex);
  int first = 0;
  switch (kind) {
    case mutex_kind::other: return lock_plainly(mutex, limit);
    case mutex_kind::unowned: first = plain::mutex_trylock(&mutex); break;
    case mutex_kind::owned: first = try_owned_once(mutex, plain::mutex_lock); break;
  }
  return first == EBUSY ? wait_for(mutex, kind, limit) : first;
}

namespace {

// Locks a mutex with an owner for a goroutine inside an announced call.
int lock_in_announced_call(pthread_mutex_t& mutex, time_limit limit) noexcept {
  int const first = try_owned_once(mutex, plain::mutex_lock);
  if (first != EBUSY) return first;
  return limit.is_valid() ? lock_owned_plainly(mutex, limit) : EINVAL;
}

bool is_owned_in_announced_call(pthread_mutex_t const& mutex) noexcept {
  return kind_of(mutex) == mutex_kind::owned && in_announced_call();
}

int lock_for_caller(pthread_mutex_t& mutex, time_limit limit) noexcept {
  if (locks_park()) return lock_on_goroutine(mutex, limit);
  return is_owned_in_announced_call(mutex) ? lock_in_announced_call(mutex, limit) : lock_plainly(mutex, limit);
}

}  // namespace

int unlock_on_goroutine(pthread_mutex_t& mutex) noexcept {
  if (kind_of(mutex) == mutex_kind::owned) return unlock_owned(mutex);
  int const result = plain::mutex_unlock(&mutex);
  was_unlocked(&mutex);
  return result;
}

owner_set_aside::owner_set_aside(pthread_mutex_t& mutex) noexcept {
  if (kind_of(mutex) != mutex_kind::owned) return;
  runtime_mark const mark;
  address_bucket& bucket = bucket_to_lock(&mutex, waited_object::mutex);
  os::lock_guard const guard(bucket.lock);
  if (look_at_owner(bucket, mutex) != ownership::mine) return;
  forget_owner(bucket, mutex);
  its_ = &mutex;
}

owner_set_aside::~owner_set_aside() {
  if (its_ == nullptr) return;
  runtime_mark const mark;
  address_bucket& bucket = bucket_to_lock(its_, waited_object::mutex);
  os::lock_guard const guard(bucket.lock);
  static_cast<void>(note_owner(bucket, *its_));  // succeeds with the record that the constructor has put back
}

}  // namespace thrum::posix

using namespace thrum::posix;

THRUM_POSIX_FILE(mutex);

THRUM_POSIX_CALL int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept { return lock_for_caller(*mutex, {}); }

THRUM_POSIX_CALL int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  bool const is_owned = kind_of(*mutex) == mutex_kind::owned && (locks_park() || in_announced_call());
  return is_owned ? try_owned_once(*mutex, plain::mutex_trylock) : plain::mutex_trylock(mutex);
}

THRUM_POSIX_CALL int pthread_mutex_timedlock(pthread_mutex_t* mutex, timespec const* moment) noexcept {
  return lock_for_caller(*mutex, {wall_clock, moment});
}

THRUM_POSIX_CALL int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, timespec const* moment) noexcept {
  bool const is_known = clock == wall_clock || clock == CLOCK_MONOTONIC;
  return is_known ? lock_for_caller(*mutex, {clock, moment}) : plain::mutex_clocklock(mutex, clock, moment);
}

THRUM_POSIX_CALL int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  if (locks_park() || is_owned_in_announced_call(*mutex)) return unlock_on_goroutine(*mutex);
  int const result = plain::mutex_unlock(mutex);
  was_unlocked(mutex);
  return result;
}

// glibc exports the functions under these names too.
// NOLINTBEGIN(readability-identifier-naming)
THRUM_POSIX_CALL int __pthread_mutex_lock(pthread_mutex_t* mutex) noexcept { return pthread_mutex_lock(mutex); }
THRUM_POSIX_CALL int __pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept { return pthread_mutex_trylock(mutex); }
THRUM_POSIX_CALL int __pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept { return pthread_mutex_unlock(mutex); }
// NOLINTEND(readability-identifier-naming)
