// pthread_join, pthread_timedjoin_np, pthread_clockjoin_np. If the thread to join has not ended, another thread makes
// the call (by_helper), and the goroutine parks.
#include "posix/here.h"
#include "posix/interpose.h"
#include "posix_locks/lock_waiters.h"
#include "posix_locks/plain.h"

#include <errno.h>
#include <pthread.h>

namespace thrum::posix {
namespace {

template <class Plain>
int join_for_caller(pthread_t thread, void** result, Plain plain) {
  // If the thread joins itself, the plain call reports the error.
  if (!locks_park() || ::pthread_equal(thread, ::pthread_self()) != 0) return plain();
  int const first = plain::tryjoin(thread, result);
  return first == EBUSY ? by_helper(plain) : first;
}

}  // namespace
}  // namespace thrum::posix

using namespace thrum::posix;

THRUM_POSIX_FILE(join);

THRUM_POSIX_CALL int pthread_join(pthread_t thread, void** result) {
  return join_for_caller(thread, result, [&] { return plain::join(thread, result); });
}

THRUM_POSIX_CALL int pthread_timedjoin_np(pthread_t thread, void** result, timespec const* moment) {
  return join_for_caller(thread, result, [&] { return plain::timedjoin(thread, result, moment); });
}

THRUM_POSIX_CALL int pthread_clockjoin_np(pthread_t thread, void** result, clockid_t clock, timespec const* moment) {
  return join_for_caller(thread, result, [&] { return plain::clockjoin(thread, result, clock, moment); });
}
