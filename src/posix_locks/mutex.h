// Locking and unlocking mutexes of the C library on a goroutine. See lock_waiters.h for waiting and owners.h for
// mutexes with an owner.
#pragma once

#include "posix_locks/kinds.h"

#include <cstdint>

#include <pthread.h>
#include <time.h>

namespace thrum::posix {

// The time limit of a call.
struct time_limit {
  clockid_t clock = wall_clock;
  timespec const* moment = nullptr;  // nullptr: no limit

  [[nodiscard]] bool is_valid() const noexcept;
  // The limit on the monotonic clock, computed from the present difference of the two clocks. If the other clock is set
  // during the wait, the wait does not notice it.
  [[nodiscard]] std::int64_t deadline_ns() const noexcept;
};

[[nodiscard]] bool is_over(std::int64_t deadline_ns) noexcept;

// Called on a goroutine, in user code. They return what pthread_mutex_lock, pthread_mutex_timedlock and
// pthread_mutex_unlock return.
[[nodiscard]] int lock_on_goroutine(pthread_mutex_t& mutex, time_limit limit) noexcept;
[[nodiscard]] int unlock_on_goroutine(pthread_mutex_t& mutex) noexcept;

// While it lives, the mutex belongs to the thread and not to the goroutine, because glibc itself unlocks and locks it
// (inside pthread_cond_wait).
class [[nodiscard]] owner_set_aside {
 public:
  explicit owner_set_aside(pthread_mutex_t& mutex) noexcept;
  ~owner_set_aside();
  owner_set_aside(owner_set_aside const&) = delete;
  owner_set_aside& operator=(owner_set_aside const&) = delete;

 private:
  pthread_mutex_t* its_ = nullptr;  // nullptr: the calling goroutine did not own it
};

}  // namespace thrum::posix
