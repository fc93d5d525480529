// In the place of libthrum_posix_locks.so: a function of its own, and what it takes for the C library's.
#include "posix_locks/plain.h"

namespace {
constexpr int is_ours = 4711;  // no errno
}

extern "C" __attribute__((visibility("default"))) int pthread_mutex_timedlock(pthread_mutex_t*,
                                                                              timespec const*) noexcept {
  return is_ours;
}

extern "C" __attribute__((visibility("default"))) bool finds_itself() {
  pthread_mutex_t free = PTHREAD_MUTEX_INITIALIZER;
  timespec const long_ago{};
  return thrum::posix::plain::mutex_timedlock(&free, &long_ago) == is_ours;
}
