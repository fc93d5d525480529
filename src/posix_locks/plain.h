// The C library's own functions, which the functions of this library replace. See posix/plain.h.
#pragma once

#include "posix/plain.h"

#include <pthread.h>
#include <time.h>

namespace thrum::posix {

// Looks up the next definition of `name` after this library. glibc on x86_64 has two versions of pthread_cond_...; the
// second one is used, because the first one, for programs built with glibc before 2.3.2, works on a different object.
[[nodiscard]] void* next_after_locks(char const* name) noexcept;

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
namespace plain {

inline constinit plain_call<int(pthread_mutex_t*)> mutex_lock{"pthread_mutex_lock", next_after_locks};
inline constinit plain_call<int(pthread_mutex_t*)> mutex_trylock{"pthread_mutex_trylock", next_after_locks};
inline constinit plain_call<int(pthread_mutex_t*, timespec const*)> mutex_timedlock{"pthread_mutex_timedlock",
                                                                                    next_after_locks};
inline constinit plain_call<int(pthread_mutex_t*, clockid_t, timespec const*)> mutex_clocklock{
    "pthread_mutex_clocklock", next_after_locks};
inline constinit plain_call<int(pthread_mutex_t*)> mutex_unlock{"pthread_mutex_unlock", next_after_locks};

inline constinit plain_call<int(pthread_cond_t*, pthread_mutex_t*)> cond_wait{"pthread_cond_wait", next_after_locks};
inline constinit plain_call<int(pthread_cond_t*, pthread_mutex_t*, timespec const*)> cond_timedwait{
    "pthread_cond_timedwait", next_after_locks};
inline constinit plain_call<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, timespec const*)> cond_clockwait{
    "pthread_cond_clockwait", next_after_locks};
inline constinit plain_call<int(pthread_cond_t*)> cond_signal{"pthread_cond_signal", next_after_locks};
inline constinit plain_call<int(pthread_cond_t*)> cond_broadcast{"pthread_cond_broadcast", next_after_locks};

inline constinit plain_call<int(pthread_t, void**)> join{"pthread_join", next_after_locks};
inline constinit plain_call<int(pthread_t, void**)> tryjoin{"pthread_tryjoin_np", next_after_locks};
inline constinit plain_call<int(pthread_t, void**, timespec const*)> timedjoin{"pthread_timedjoin_np",
                                                                               next_after_locks};
inline constinit plain_call<int(pthread_t, void**, clockid_t, timespec const*)> clockjoin{"pthread_clockjoin_np",
                                                                                          next_after_locks};

}  // namespace plain
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace thrum::posix
