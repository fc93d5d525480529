// Locking and unlocking on a goroutine: see stand.h and owners.h.
#pragma once

#include "posix_locks/kinds.h"

#include <cstdint>

#include <pthread.h>
#include <time.h>

namespace thrum::posix {

// Until when a call waits.
struct time_limit {
  clockid_t clock = wall_clock;
  timespec const* moment = nullptr;  // none

  [[nodiscard]] bool is_valid() const noexcept;
  // By the monotonic clock, as far as the two are apart now: if somebody sets the other one meanwhile, the wait does not know.
  [[nodiscard]] std::int64_t deadline_ns() const noexcept;
};

[[nodiscard]] bool is_over(std::int64_t deadline_ns) noexcept;

// On a goroutine, in user code. The answers are pthread_mutex_lock's and its kin's, and pthread_mutex_unlock's.
[[nodiscard]] int lock_on_goroutine(pthread_mutex_t& mutex, time_limit limit) noexcept;
[[nodiscard]] int unlock_on_goroutine(pthread_mutex_t& mutex) noexcept;

// The mutex is its thread's for that time, and no goroutine's: glibc is to unlock it and to lock it again by itself.
class [[nodiscard]] owner_set_aside {
 public:
  explicit owner_set_aside(pthread_mutex_t& mutex) noexcept;
  ~owner_set_aside();
  owner_set_aside(owner_set_aside const&) = delete;
  owner_set_aside& operator=(owner_set_aside const&) = delete;

 private:
  pthread_mutex_t* its_ = nullptr;  // nullptr: it was not a goroutine's
};

}  // namespace thrum::posix
