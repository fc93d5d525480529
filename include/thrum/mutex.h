// mutex: a TimedLockable for goroutines. Waiting parks the goroutine, not its thread.
//
//   thrum::mutex m;
//   { std::lock_guard guard(m); ++shared; }
//   if (std::unique_lock guard(m, 10ms); guard) ++shared;
//
// The mutex is fair after 1 ms: a goroutine that has waited for that long gets the mutex directly from the unlock,
// before any newcomer. If there is no contention, lock and unlock are one atomic operation each. unlock() never
// switches to another goroutine. A goroutine may destroy the mutex as soon as it has got and released the last lock,
// even if an earlier unlock() has not returned yet. The mutex is not recursive. Unlocking a mutex that is not locked
// ends the program.
#pragma once

#include <thrum/detail/at_least_cxx20.h>
#include <thrum/detail/atomic.h>
#include <thrum/detail/deadline.h>
#include <thrum/detail/holder.h>
#include <thrum/detail/user_frame.h>

#include <chrono>
#include <cstdint>

namespace thrum {

namespace rt {
struct M;
class wait_bucket;
struct lock_holders;
struct debugger_rows;
}  // namespace rt

class mutex {
 public:
  constexpr mutex() noexcept = default;
  mutex(mutex const&) = delete;
  mutex& operator=(mutex const&) = delete;

  void lock() {
    std::uint32_t seen = 0;
    // acquire pairs with the release of the last unlock
    if (!state_.compare_exchange(seen, locked, detail::acquire, detail::relaxed)) return lock_slow(seen);
    holder_.is_this_goroutine();
  }

  // These return false if the time was over first.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> const& d) {
    return try_lock() || try_lock_until_ns(detail::deadline_after(d));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(std::chrono::time_point<Clock, Duration> const& when) {
    return try_lock() || detail::attempt_until(when, [this](std::int64_t ns) { return try_lock_until_ns(ns); });
  }

  [[nodiscard]] bool try_lock() noexcept {
    std::uint32_t seen = state_.load(detail::relaxed);
    if ((seen & ~locked) != 0) return try_lock_slow();
    // acquire pairs with the release of the last unlock
    if (seen != 0 || !state_.compare_exchange(seen, locked, detail::acquire, detail::relaxed)) return false;
    holder_.is_this_goroutine();
    return true;
  }

  [[gnu::always_inline]] void unlock() noexcept {
    // release pairs with the acquire of the next owner. After this the mutex may be destroyed, unless goroutines wait
    // in it.
    std::uint32_t const before = state_.fetch_sub(locked, detail::release);
    if (before == locked) return;
    unlock_slow(before);
    detail::stay_in_users_function();
  }

 private:
  friend struct rt::lock_holders;
  friend struct rt::debugger_rows;

  static constexpr std::uint32_t locked = 1;
  static constexpr std::uint32_t waiters = 2;  // a goroutine stands in the wait table; changed under the bucket's lock
  static constexpr std::uint32_t woken = 4;    // a waiter was woken and has not tried yet, so unlock wakes no other
  // A goroutine has waited too long: newcomers queue, and unlock hands the mutex over.
  static constexpr std::uint32_t starving = 8;
  static constexpr std::uint32_t promised = 16;  // locked for a goroutine that was handed the mutex and has not run yet
  // If a flag is set, the bits above hold the number of the run in which it was set. Flags of an ended run mean
  // nothing, because its waiters never come.
  static constexpr unsigned epoch_shift = 16;

  void lock_slow(std::uint32_t before);
  [[nodiscard]] bool try_lock_until_ns(std::int64_t deadline_ns);
  [[nodiscard]] bool wait_to_own(std::uint32_t before, char const* what, std::int64_t deadline_ns);
  [[nodiscard]] bool take_or_mark(std::uint32_t mark, std::uint32_t done_with, std::uint32_t epoch) noexcept;
  void leave_queue(rt::wait_bucket& bucket, std::uint32_t epoch) noexcept;
  void unlock_slow(std::uint32_t before) noexcept;
  [[nodiscard]] bool try_lock_slow() noexcept;
  void accept(std::uint32_t epoch) noexcept;
  [[nodiscard]] bool take_as_woken(std::uint32_t epoch) noexcept;
  void hand_over(rt::M& m, rt::wait_bucket& bucket, std::uintptr_t site) noexcept;
  void wake_first(rt::M& m, rt::wait_bucket& bucket, std::uintptr_t site) noexcept;
  [[nodiscard]] void const* key() const noexcept;
  [[nodiscard]] static std::uint32_t flags_of(std::uint32_t seen, std::uint32_t epoch) noexcept;
  [[nodiscard]] static std::uint32_t stamped(std::uint32_t flags, std::uint32_t epoch) noexcept;

  detail::atomic<std::uint32_t> state_{0};
  detail::holder holder_;
};

}  // namespace thrum
