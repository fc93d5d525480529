// pthread_cond_wait, _timedwait, _clockwait, _signal, _broadcast.
#include "posix/here.h"
#include "posix/interpose.h"
#include "posix/limit.h"
#include "posix_locks/lock_waiters.h"
#include "posix_locks/mutex.h"
#include "posix_locks/plain.h"

#include <errno.h>

namespace thrum::posix {
namespace {

// Makes the plain call, in which glibc unlocks the mutex without this library ((d) in lock_waiters.h). It is not
// noexcept, because a thread may be cancelled in the call.
template <class Plain>
int wait_plainly(pthread_mutex_t& mutex, Plain plain) {
  unlocked_unseen const note(mutex);
  return plain();
}

enum class cond_outcome : bool { signalled, late };

cond_outcome park_until_chosen(lock_waiter& here, std::int64_t deadline_ns) noexcept {
  bool has_parked = false;
  while (!here.is_chosen() && !is_over(deadline_ns)) {
    has_parked = here.park(deadline_ns);
    if (!has_parked) {  // without memory this is a spurious wake-up, after which the caller checks its condition
      static_cast<void>(here.leave());
      return cond_outcome::signalled;
    }
  }
  if (!has_parked) thrum::yield();  // for callers that wait in a loop with limits that have passed
  return here.leave() ? cond_outcome::signalled : cond_outcome::late;
}

// A call that has waited must return with the mutex locked, whatever its result is. A mutex with an owner needs memory
// for its record. If there is none, this tries until other goroutines have freed a record.
int lock_again(pthread_mutex_t& mutex) noexcept {
  for (;;) {
    int const error = lock_on_goroutine(mutex, {});
    if (error != EAGAIN) return error;
    thrum::yield();
  }
}

// Waits on a goroutine. Returns -1 if the goroutine cannot park here.
THRUM_OPAQUE int wait_on_goroutine(pthread_cond_t& condition, pthread_mutex_t& mutex, time_limit limit) noexcept {
  rt::at_home const here;
  int const errno_before = errno;
  std::int64_t const deadline_ns = limit.deadline_ns();
  lock_waiter its(&condition, waited_object::condition);
  if (!its.enter()) return -1;
  if (int const error = unlock_on_goroutine(mutex)) {
    static_cast<void>(its.leave());
    return error;
  }
  cond_outcome const how = park_until_chosen(its, deadline_ns);
  int const error = lock_again(mutex);
  errno = errno_before;
  if (error != 0) return error;
  return how == cond_outcome::late ? ETIMEDOUT : 0;
}

template <class Plain>
int wait_for_caller(pthread_cond_t& condition, pthread_mutex_t& mutex, time_limit limit, Plain plain) {
  bool const parks = locks_park();
  if (!parks && !in_announced_call()) return wait_plainly(mutex, plain);
  bool const is_ours = limit.is_valid() && !is_shared(condition) && kind_of(mutex) != mutex_kind::other;
  if (parks && is_ours && !must_not_park()) {
    int const result = wait_on_goroutine(condition, mutex, limit);
    if (result >= 0) return result;
  }
  owner_set_aside const its_thread_has_it(mutex);
  return wait_plainly(mutex, plain);
}

}  // namespace
}  // namespace thrum::posix

using namespace thrum::posix;

THRUM_POSIX_FILE(cond);

THRUM_POSIX_CALL int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  return wait_for_caller(*condition, *mutex, {}, [&] { return plain::cond_wait(condition, mutex); });
}

THRUM_POSIX_CALL int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, timespec const* moment) {
  return wait_for_caller(*condition, *mutex, {clock_of(*condition), moment},
                         [&] { return plain::cond_timedwait(condition, mutex, moment); });
}

THRUM_POSIX_CALL int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                            timespec const* moment) {
  return wait_for_caller(*condition, *mutex, {clock, moment},
                         [&] { return plain::cond_clockwait(condition, mutex, clock, moment); });
}

// Wakes one thread and one goroutine. POSIX allows that more than one waiter is woken, because each waiter checks its
// condition.
THRUM_POSIX_CALL int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  int const result = plain::cond_signal(condition);
  was_signalled(condition,
                how_many::one);  // after the call only the address is used, because a woken waiter may free the object
  return result;
}

THRUM_POSIX_CALL int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  int const result = plain::cond_broadcast(condition);
  was_signalled(condition, how_many::all);
  return result;
}
